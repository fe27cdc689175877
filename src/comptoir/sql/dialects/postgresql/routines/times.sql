-- Times: instants and dates are texts that sort by time, durations hundred-thousandths of a second.

-- A duration in ISO 8601.
CREATE OR REPLACE FUNCTION comptoir_text_of_duration(given bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    days bigint := abs(given) / {day};
    hours bigint := abs(given) % {day} / {hour};
    minutes bigint := abs(given) % {hour} / {minute};
    seconds bigint := abs(given) % {minute};
    timed text := '';
BEGIN
    IF hours > 0 THEN
        timed := hours || 'H';
    END IF;
    IF minutes > 0 THEN
        timed := timed || minutes || 'M';
    END IF;
    IF seconds > 0 OR given = 0 THEN
        timed := timed || trim_scale(comptoir_exact(seconds)) || 'S';
    END IF;
    RETURN CASE WHEN given < 0 THEN '-P' ELSE 'P' END
        || CASE WHEN days > 0 THEN days || 'D' ELSE '' END
        || CASE WHEN timed <> '' THEN 'T' || timed ELSE '' END;
END
$$;

-- An instant as the duration since the first one.
CREATE OR REPLACE FUNCTION comptoir_span(moment text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    RETURN extract(epoch FROM moment::timestamp - timestamp '0001-01-01') * {unit};
END
$$;

-- The instant after a duration, truncated to milliseconds.
CREATE OR REPLACE FUNCTION comptoir_add_moment(moment text, span bigint) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    elapsed bigint := comptoir_span(moment) + span;
BEGIN
    IF elapsed NOT BETWEEN 0 AND {moments} - 1 THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'MOMENT_OUTSIDE',
            DETAIL = moment || ' and ' || comptoir_text_of_duration(span);
    END IF;
    RETURN to_char(
        timestamp '0001-01-01' + elapsed / {day} * interval '1 day'
            + elapsed % {day} / {millisecond} * interval '1 millisecond',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    );
END
$$;

-- The date after a duration, truncated to whole days towards the past.
CREATE OR REPLACE FUNCTION comptoir_add_date(given text, span bigint) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    days bigint := (given::date - date '0001-01-01')
        + span / {day} - CASE WHEN span % {day} < 0 THEN 1 ELSE 0 END;
BEGIN
    IF days NOT BETWEEN 0 AND {days} - 1 THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'DATE_OUTSIDE',
            DETAIL = given || ' and ' || comptoir_text_of_duration(span);
    END IF;
    RETURN to_char(date '0001-01-01' + days::int, 'YYYY-MM-DD');
END
$$;
