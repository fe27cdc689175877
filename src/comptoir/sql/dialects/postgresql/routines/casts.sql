-- Casts: null for a value that is not of the type. Texts are parsed as the types of edm do.

CREATE OR REPLACE FUNCTION comptoir_within(given numeric, lowest numeric, highest numeric)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given BETWEEN lowest AND highest THEN
        RETURN given;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_whole_of_text(given text, lowest numeric, highest numeric)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given COLLATE "C" ~ '^-?[0-9]{1,20}$' AND given::numeric BETWEEN lowest AND highest THEN
        RETURN given::numeric;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_decimal_of_text(given text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    units numeric;
BEGIN
    IF given COLLATE "C"
        !~ '^[+-]?(?:[0-9]{1,40}(?:[.][0-9]{0,40})?|[.][0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?$'
    THEN
        RETURN NULL;
    END IF;
    units := given::numeric * {unit};
    IF abs(units) <= {most_decimal} AND units = trunc(units) THEN
        RETURN units;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_guid_of_text(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given COLLATE "C" ~ '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' THEN
        RETURN lower(given COLLATE "C");
    END IF;
    RETURN NULL;
END
$$;

-- Whether a text of the form YYYY-MM-DD is a day in the years 1 to 9999.
CREATE OR REPLACE FUNCTION comptoir_is_day(given text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    year int := substr(given, 1, 4);
    month int := substr(given, 6, 2);
    day int := substr(given, 9, 2);
BEGIN
    RETURN year > 0 AND month BETWEEN 1 AND 12 AND day BETWEEN 1 AND CASE
        WHEN month IN (4, 6, 9, 11) THEN 30
        WHEN month <> 2 THEN 31
        WHEN year % 4 = 0 AND (year % 100 <> 0 OR year % 400 = 0) THEN 29
        ELSE 28
    END;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_date_of_text(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given COLLATE "C" ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' AND comptoir_is_day(given) THEN
        RETURN given;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_time_of_text(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given COLLATE "C"
        !~ '^(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,20})?)?$'
    THEN
        RETURN NULL;
    END IF;
    RETURN rpad(left(given, 8), 8, ':00') || '.' || rpad(substr(given, 10, 3), 3, '0');
END
$$;

-- An instant; without an offset, it is in UTC.
CREATE OR REPLACE FUNCTION comptoir_instant_of_text(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    written text := rtrim(given, 'Zz');
    ahead text := '+00:00';
    clock int := 8;
    moment timestamp;
BEGIN
    IF given COLLATE "C"
        !~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?'
            '(?:[.][0-9]{1,20})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?$')
        OR NOT comptoir_is_day(given)
    THEN
        RETURN NULL;
    END IF;
    IF left(right(given, 6), 1) IN ('+', '-') THEN
        ahead := right(given, 6);
        written := left(given, -6);
    END IF;
    IF substr(written, 17, 1) <> ':' THEN
        clock := 5;
    END IF;
    moment := (left(written, 10) || ' ' || substr(written, 12, clock))::timestamp - ahead::interval;
    IF moment NOT BETWEEN timestamp '0001-01-01' AND timestamp '9999-12-31 23:59:59' THEN
        RETURN NULL;
    END IF;
    RETURN to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS') || '.'
        || rpad(substr(written, 13 + clock, 3), 3, '0') || 'Z';
END
$$;

CREATE OR REPLACE FUNCTION comptoir_duration_of_text(given text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    days text;
    hours text;
    minutes text;
    seconds text;
    span numeric;
BEGIN
    IF given COLLATE "C"
        !~ ('^-?[Pp](?=[0-9Tt])(?:[0-9]{1,12}[Dd])?'
            '(?:[Tt](?=[0-9])(?:[0-9]{1,14}[Hh])?(?:[0-9]{1,16}[Mm])?'
            '(?:[0-9]{1,18}(?:[.][0-9]{1,20})?[Ss])?)?$')
    THEN
        RETURN NULL;
    END IF;
    days := substring(given COLLATE "C" FROM '[0-9]+(?=[Dd])');
    hours := substring(given COLLATE "C" FROM '[0-9]+(?=[Hh])');
    minutes := substring(given COLLATE "C" FROM '[0-9]+(?=[Mm])');
    seconds := substring(given COLLATE "C" FROM '[0-9.]+(?=[Ss])');
    span := coalesce(days::numeric, 0) * {day}
        + coalesce(hours::numeric, 0) * {hour}
        + coalesce(minutes::numeric, 0) * {minute}
        + trunc(coalesce(seconds::numeric, 0) * {unit});
    IF span > {most_decimal} THEN
        RETURN NULL;
    END IF;
    RETURN CASE WHEN left(given, 1) = '-' THEN -span ELSE span END;
END
$$;
