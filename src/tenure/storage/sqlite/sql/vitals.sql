-- What the file says of itself: its bytes, and those among them that are free to be used again.
SELECT pages.page_count * sizes.page_size AS size, free.freelist_count * sizes.page_size AS unused
  FROM pragma_page_count() AS pages, pragma_page_size() AS sizes, pragma_freelist_count() AS free;
