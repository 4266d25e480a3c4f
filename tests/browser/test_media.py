"""Pages on paper, at rest, in a system's own colours and in large letters: what they say is still there."""

from itertools import combinations
from typing import Any

import pytest
from playwright.async_api import FloatRect, Page, expect

from tenure.core.model.states import State
from tests.browser.conftest import DARK, LIGHT, Site, Window, shot
from tests.browser.screens import SCREENS, cut_off, go

PAPER = {"width": 794, "height": 1123}
"""A4 in pixels."""

ENLARGED = {200: 640, 400: 320}
"""Pixels that a window of 1,280 has for a page of which everything is enlarged, by per cent."""

# What is missing on paper: folded, or cut by three dots or a box that scrolls; and what nobody can press.
_MISSING = """() => {
    const shown = [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility());
    const isUnseen = (one) => one.closest(".unseen, svg") !== null;
    const isCut = (one) => getComputedStyle(one).overflow !== "visible"
        && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1);
    const folded = [...document.querySelectorAll("main details:not(.menu) > :not(summary)")]
        .filter((one) => one.closest("section:has(> #delete), .actions") === null && !one.matches(".actions"))
        .filter((one) => one.textContent.trim() && !one.checkVisibility({contentVisibilityAuto: true}));
    const isWhole = (one) => one.matches("progress") || isUnseen(one) || !isCut(one);
    const controls = shown.filter((one) => one.matches("button, .button, .segments, .menu, td input"));
    return [
        ...shown.filter((one) => !isWhole(one)).map((one) => ["cut", one]),
        ...folded.map((one) => ["folded", one]),
        ...controls.map((one) => ["a control", one]),
    ].map(([what, one]) => `${what}: ${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 60)}`);
}"""

_MOVING = "() => document.getAnimations().map((one) => one.animationName || one.transitionProperty)"
_TOAST = '<div class="toast" role="status">Done</div>'

# In boxes of one size, at whole pixels: two that look alike are the same picture.
_SHOW_MARKS = """(states) => {
    document.body.replaceChildren(...states.map((state, n) => {
        const mark = document.createElement("span");
        mark.className = "state bare";
        mark.dataset.state = state;
        for (const [name, value] of [["position", "fixed"], ["left", `${40 * n + 10}px`], ["top", "10px"]])
            mark.style.setProperty(name, value);
        return mark;
    }));
}"""


async def test_on_paper_every_screen_says_all_it_has(site: Site, window: Window) -> None:
    """Whatever the theme: in dark ink, without bar and buttons, and with what is folded on the screen."""
    page = await window(site.admin, **{**DARK, "viewport": PAPER})
    await page.emulate_media(media="print")
    wrong = []
    for name in SCREENS:
        await go(page, site, name)
        wrong += [(name, one) for one in await page.evaluate(_MISSING)]
        wrong += [(name, one) for one in await cut_off(page)]
        await shot(page, f"{name}-paper")
    assert not wrong
    for theme in ("light", "dark"):
        await page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        assert await page.evaluate("() => getComputedStyle(document.body).color") == "rgb(21, 24, 29)"
    await expect(page.locator(".bar")).to_be_hidden()


async def test_in_letters_of_two_and_four_times_their_size_nothing_is_cut_off(
    site: Site, window: Window
) -> None:
    page = await window(site.admin, **LIGHT)
    wrong = []
    for name in SCREENS:
        await go(page, site, name)
        for per_cent, width in ENLARGED.items():
            await page.set_viewport_size({"width": width, "height": 400})
            wrong += [(name, per_cent, one) for one in await cut_off(page)]
    assert not wrong


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
async def test_nothing_moves_for_one_who_wants_no_motion(site: Site, window: Window, motion: Any) -> None:
    """While for all others what runs turns, and what was just done rises."""
    page = await window(site.operator, **LIGHT)
    await page.emulate_media(reduced_motion=motion)
    await go(page, site, "job-running")
    moving = set(await page.evaluate(_MOVING))
    moving |= set(
        await page.evaluate(f"() => {{ document.body.innerHTML = '{_TOAST}'; return ({_MOVING})(); }}")
    )
    assert moving == (set() if motion == "reduce" else {"turn", "rise"})


@pytest.mark.parametrize("media", [{"forced_colors": "active"}, {"media": "print"}])
async def test_states_are_told_apart_without_colours(site: Site, window: Window, media: Any) -> None:
    """By their silhouettes, which neither a system's own colours nor a printer leaves out."""
    page = await window(site.operator, **LIGHT)
    await page.emulate_media(**media)
    await go(page, site, "jobs")
    await page.evaluate(_SHOW_MARKS, list(State))
    drawn = {state: await _seen(page, n) for n, state in enumerate([*State, "nothing"])}
    alike = [pair for pair in combinations(drawn, 2) if drawn[pair[0]] == drawn[pair[1]]]
    assert not alike


async def _seen(page: Page, n: int) -> bytes:
    """What is drawn at the n-th place, without colours."""
    box = FloatRect(x=40 * n + 5, y=5, width=30, height=30)
    await page.evaluate("() => { document.documentElement.style.filter = 'grayscale(1) contrast(9)'; }")
    return await page.screenshot(clip=box)


async def test_what_has_only_a_colour_keeps_it_where_a_system_forces_its_own(
    site: Site, window: Window
) -> None:
    """A legend tells which bar is which, and a bar how far something has come."""
    page = await window(site.operator, **LIGHT)
    await page.emulate_media(forced_colors="active")
    await go(page, site, "overview")
    colours = await page.evaluate(
        """() => [...document.querySelectorAll(".legend span:not(.hollow)")]
            .map((one) => getComputedStyle(one, "::before").backgroundColor)"""
    )
    assert len(colours) >= 4
    assert await page.evaluate("() => getComputedStyle(document.body).backgroundColor") not in colours
