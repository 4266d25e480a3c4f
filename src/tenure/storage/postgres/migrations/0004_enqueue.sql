-- reads-from: 4
-- Jobs from triggers and from other languages: SELECT tenure.enqueue('email.welcome', '{"to": "ada@example.com"}').
--
-- The job is made in the caller's transaction, of a definition that a worker has registered, with its policy and limits.
-- What can be judged here is: names, numbers, and of the params the fields that must be there or must not. Whatever is
-- wrong raises TN002 with the field in front, and nothing is written.

CREATE FUNCTION tenure.refuse_input(field text, problem text, remedy text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'tenure: %: %', field, problem USING ERRCODE = 'TN002', HINT = remedy;
END $$;

-- An id that begins with the time, as those that clients make.
CREATE FUNCTION tenure.new_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
                                      PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                                      FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- The keys under which a definition's own limit counts a job, if it has one: those that its maker names, or what is in
-- its params; one that is empty where they lead to nothing. A limit that does not count by key is a total, which no maker
-- may get round.
CREATE FUNCTION tenure.keys_of(spec jsonb, params jsonb, named text[]) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    place text := spec ->> 'concurrency_key';
    steps text[] := ARRAY[place];
    value jsonb;
    key text;
BEGIN
    IF named <> '{}' AND place IS NULL THEN
        PERFORM tenure.refuse_input('concurrency_keys', 'have no limit to go with', 'leave them out');
    ELSIF coalesce((spec ->> 'concurrency')::integer, 0) = 0 THEN
        RETURN '{}';
    ELSIF named <> '{}' THEN
        IF cardinality(named) + (SELECT count(*) FROM jsonb_object_keys(coalesce(spec -> 'limits', '{}'))) > 10
           OR cardinality(named) <> (SELECT count(DISTINCT name) FROM unnest(named) AS name) THEN
            PERFORM tenure.refuse_input('concurrency_keys', 'are too many, or one stands twice',
                                        'give each once, at most 10 with the other limits');
        ELSIF EXISTS (SELECT FROM unnest(named) AS name WHERE length(name) NOT BETWEEN 1 AND 255 OR name ~ '[[:cntrl:]]') THEN
            PERFORM tenure.refuse_input('concurrency_keys', 'are not 1 to 255 printable characters each', 'give others');
        END IF;
        RETURN named;
    END IF;
    IF place LIKE '/%' THEN
        steps := ARRAY(SELECT replace(replace(step, '~1', '/'), '~0', '~')
                         FROM unnest(string_to_array(substring(place FROM 2), '/')) WITH ORDINALITY AS path (step, n)
                        ORDER BY n);
    END IF;
    value := params #> steps;
    key := coalesce(value #>> '{}', '');
    IF jsonb_typeof(value) IN ('object', 'array') OR length(key) > 255 OR key ~ '[[:cntrl:]]' THEN
        PERFORM tenure.refuse_input('params', format('leads to no plain value at %L', place),
                                    'name one of up to 255 printable characters');
    END IF;
    RETURN ARRAY[key];
END $$;

-- The limits that jobs of a definition run under, as [{name, key, size}]. A key belongs to the namespace of the job, as
-- wherever else jobs are made.
CREATE FUNCTION tenure.limits_of(definition text, spec jsonb, params jsonb, named text[], namespace text) RETURNS jsonb
LANGUAGE sql STABLE AS $$
SELECT coalesce(jsonb_agg(jsonb_build_object('name', name, 'key', key, 'size', size)), '[]')
  FROM (SELECT name, '' AS key, size::integer FROM jsonb_each_text(coalesce(spec -> 'limits', '{}')) AS shared (name, size)
         UNION ALL
        SELECT definition, CASE WHEN key = '' OR namespace = 'default' THEN key ELSE namespace || E'\x1f' || key END,
               (spec ->> 'concurrency')::integer
          FROM unnest(tenure.keys_of(spec, params, named)) AS own (key)) wanted
$$;

-- Gives a new key of a limit its slots when the transaction that brings it commits: until then nobody who raises the limit
-- sees the key. The lock keeps the size as it is from here to the commit; who raises it afterwards sees the key.
CREATE FUNCTION tenure.fill_slots() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    most integer;
BEGIN
    SELECT size INTO most FROM tenure.limit_size WHERE name = NEW.name FOR SHARE;
    INSERT INTO tenure.slot (limited, n) SELECT NEW.id, n FROM generate_series(1, most) AS n ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fill_slots AFTER INSERT ON tenure.limited DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION tenure.fill_slots();

-- The line for jobs of one kind; made, with its limits, where there is none.
CREATE FUNCTION tenure.line_for(in_queue text, of_definition text, of_version integer, limits jsonb) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    ids integer[];
    line_id integer;
BEGIN
    IF limits <> '[]' THEN
        INSERT INTO tenure.limit_size (name, size)
        SELECT DISTINCT name, size FROM jsonb_to_recordset(limits) AS wanted (name text, size integer) ORDER BY name
        ON CONFLICT DO NOTHING;
        INSERT INTO tenure.limited (name, key)
        SELECT name, key FROM jsonb_to_recordset(limits) AS wanted (name text, key text) ORDER BY name, key
        ON CONFLICT DO NOTHING;
    END IF;
    ids := ARRAY(SELECT limited.id
                   FROM jsonb_to_recordset(limits) AS wanted (name text, key text)
                  -- LIMIT keeps these look-ups, however many keys there are by now.
                  CROSS JOIN LATERAL (SELECT id FROM tenure.limited
                                       WHERE limited.name = wanted.name AND limited.key = wanted.key LIMIT 1) limited
                  ORDER BY limited.id);
    LOOP
        SELECT id INTO line_id FROM tenure.line
         WHERE line.queue = in_queue AND line.definition = of_definition AND line.version = of_version AND line.limits = ids
           AND line.share = '';
        IF FOUND THEN
            RETURN line_id;
        END IF;
        INSERT INTO tenure.line (queue, definition, version, limits) VALUES (in_queue, of_definition, of_version, ids)
        ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- Refuses params that lack a field which their definition requires, or have one that it does not know.
CREATE FUNCTION tenure.judge_params(params jsonb, schema jsonb) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text;
BEGIN
    IF jsonb_typeof(params) IS DISTINCT FROM 'object' THEN
        PERFORM tenure.refuse_input('params', format('is %s', coalesce(jsonb_typeof(params), 'null')), 'give a JSON object');
    END IF;
    IF octet_length(params::text) > 262144 THEN
        PERFORM tenure.refuse_input('params', 'has more than 262144 bytes', 'keep large data elsewhere and name its place');
    END IF;
    FOR name IN SELECT jsonb_array_elements_text(coalesce(schema -> 'required', '[]')) LOOP
        IF NOT params ? name THEN
            PERFORM tenure.refuse_input('params/' || name, 'is missing', 'give it');
        END IF;
    END LOOP;
    IF schema -> 'additionalProperties' = 'false' THEN
        FOR name IN SELECT jsonb_object_keys(params) LOOP
            IF NOT coalesce(schema -> 'properties', '{}') ? name THEN
                PERFORM tenure.refuse_input('params/' || name, 'is not known', 'leave it out');
            END IF;
        END LOOP;
    END IF;
END $$;

CREATE FUNCTION tenure.enqueue(
    definition       text,
    params           jsonb       DEFAULT '{}',
    version          integer     DEFAULT NULL,
    queue            text        DEFAULT NULL,
    priority         integer     DEFAULT NULL,
    run_at           timestamptz DEFAULT NULL,
    idempotency_key  text        DEFAULT NULL,
    max_attempts     integer     DEFAULT NULL,
    tags             text[]      DEFAULT '{}',
    hold             boolean     DEFAULT false,
    namespace        text        DEFAULT 'default',
    traceparent      text        DEFAULT NULL,
    concurrency_keys text[]      DEFAULT '{}'
) RETURNS uuid LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    a_name CONSTANT text := '^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$';
    spec jsonb;
    of_version integer;
    a_line integer;
    known record;
    new_job uuid := tenure.new_id();
    a_scope text := '';
    a_state tenure.state;
    a_seq bigint;
BEGIN
    IF definition LIKE 'system.%' THEN
        PERFORM tenure.refuse_input('definition', 'begins with ''system.'', which is reserved', 'choose another name');
    END IF;
    -- What an operator may set, as every other way to enqueue has it.
    SELECT d.spec::jsonb || coalesce((SELECT jsonb_object_agg(name, CASE WHEN name = 'retry'
                                                                         THEN coalesce(d.spec::jsonb -> 'retry', '{}') || value
                                                                         ELSE value END)
                                        FROM jsonb_each(d.override::jsonb) AS wanted (name, value)
                                       WHERE name IN ('priority', 'max_attempts', 'timeout_seconds', 'grace_seconds', 'retry')
                                         AND value <> 'null'), '{}'), d.version
      INTO spec, of_version
      FROM tenure.definition d
     WHERE d.key = enqueue.definition AND d.version = coalesce(enqueue.version, d.version)
     ORDER BY d.version DESC LIMIT 1;
    IF NOT FOUND THEN
        PERFORM tenure.refuse_input('definition', format('%L is not known', definition), 'start a worker that serves it');
    END IF;
    queue := coalesce(queue, spec ->> 'queue', 'default');
    priority := coalesce(priority, (spec ->> 'priority')::integer, 0);
    max_attempts := coalesce(max_attempts, (spec ->> 'max_attempts')::integer, 3);
    tags := ARRAY(SELECT jsonb_array_elements_text(coalesce(spec -> 'tags', '[]'))) || tags;
    tags := ARRAY(SELECT name FROM unnest(tags) WITH ORDINALITY AS given (name, n) GROUP BY name ORDER BY min(n));
    IF spec ->> 'on_lost' = 'bury' THEN
        max_attempts := 1;
    END IF;
    PERFORM tenure.judge_params(params, spec -> 'params_schema');
    IF queue !~ a_name THEN
        PERFORM tenure.refuse_input('queue', 'is not a name', 'use letters, digits and . _ : -');
    ELSIF namespace !~ a_name THEN
        PERFORM tenure.refuse_input('namespace', 'is not a name', 'use letters, digits and . _ : -');
    ELSIF priority NOT BETWEEN -32767 AND 32767 THEN
        PERFORM tenure.refuse_input('priority', format('is %s', priority), 'give a value from -32767 to 32767');
    ELSIF max_attempts NOT BETWEEN 1 AND 100 THEN
        PERFORM tenure.refuse_input('max_attempts', format('is %s', max_attempts), 'give a value from 1 to 100');
    ELSIF run_at NOT BETWEEN '1970-01-01Z' AND '3000-01-01Z' THEN
        PERFORM tenure.refuse_input('run_at', format('is %s', run_at), 'give a time before the year 3000');
    ELSIF idempotency_key IS NOT NULL AND (length(idempotency_key) NOT BETWEEN 1 AND 255 OR idempotency_key ~ '[[:cntrl:]]') THEN
        PERFORM tenure.refuse_input('idempotency_key', 'is not 1 to 255 printable characters', 'give another');
    ELSIF cardinality(tags) > 20 OR EXISTS (SELECT FROM unnest(tags) AS name WHERE name !~ a_name) THEN
        PERFORM tenure.refuse_input('tags', 'are too many, or one is not a name', 'give at most 20 names');
    END IF;
    IF idempotency_key IS NOT NULL THEN
        a_scope := definition || coalesce('@' || version, '');
    END IF;
    a_line := tenure.line_for(queue, definition, of_version,
                              tenure.limits_of(definition, spec, params, coalesce(concurrency_keys, '{}'), namespace));
    a_state := CASE WHEN hold THEN 'created' WHEN run_at > tenure.now() THEN 'scheduled' ELSE 'queued' END;
    LOOP
        INSERT INTO tenure.job (
            id, line, priority, max_attempts, created_at, run_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
            on_lost, namespace, scope, params, key, retry_on, fatal_on, traceparent, tags)
        SELECT new_job, a_line, enqueue.priority, enqueue.max_attempts, tenure.now(), enqueue.run_at,
               coalesce((spec ->> 'timeout_seconds')::numeric, 3600) * 1000,
               coalesce((spec ->> 'grace_seconds')::numeric, 10) * 1000,
               coalesce((spec -> 'retry' ->> 'base_seconds')::numeric, 1) * 1000,
               coalesce((spec -> 'retry' ->> 'cap_seconds')::numeric, 300) * 1000,
               coalesce(spec ->> 'on_lost', 'retry'), enqueue.namespace, a_scope, enqueue.params::text,
               enqueue.idempotency_key,
               nullif(spec -> 'retry' -> 'retry_on', '[]')::text, nullif(spec -> 'retry' -> 'fatal_on', '[]')::text,
               -- One that cannot be read is worth no refusal.
               substring(enqueue.traceparent FROM '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
               nullif(to_jsonb(enqueue.tags), '[]')::text
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        SELECT job.id, job.params::jsonb = enqueue.params AS matches INTO known
          FROM tenure.job
         WHERE job.namespace = enqueue.namespace AND job.scope = a_scope AND job.key = enqueue.idempotency_key;
        IF FOUND THEN
            IF NOT known.matches THEN
                PERFORM tenure.refuse_input('idempotency_key', format('was used before, with other params, for job %s', known.id),
                                            'use another key');
            END IF;
            RETURN known.id;
        END IF;
    END LOOP;
    a_seq := nextval('tenure.place');
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at, due_at, queued_at)
    VALUES (new_job, a_line, -priority, max_attempts, a_state, 1, a_seq, tenure.now(),
            CASE WHEN a_state <> 'queued' THEN run_at END, CASE WHEN a_state = 'queued' THEN tenure.now() END);
    IF a_state = 'queued' THEN
        INSERT INTO tenure.ready (line, rank, seq, job) VALUES (a_line, -priority, a_seq, new_job);
        PERFORM pg_notify('tenure', 'queued ');
    ELSE
        INSERT INTO tenure.timer (due_at, job, kind)
        VALUES (CASE WHEN hold THEN 'infinity' ELSE run_at END, new_job, CASE WHEN hold THEN 'hold' ELSE 'scheduled' END);
        PERFORM pg_notify('tenure', 'timed ') WHERE NOT hold;
    END IF;
    INSERT INTO tenure.tag (name, job) SELECT unnest(tags), new_job;
    INSERT INTO tenure.tally (line, state, n) VALUES (a_line, a_state, 1);
    RETURN new_job;
END $$;
