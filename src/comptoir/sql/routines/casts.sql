-- Casts: null where the value is none of the type. Texts are read as the types read them (edm).

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

-- Whether a text of the form YYYY-MM-DD names a day of the years 1 to 9999.
CREATE OR REPLACE FUNCTION comptoir_is_day(given text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    year int := substr(given, 1, 4);
    month int := substr(given, 6, 2);
    day int := substr(given, 9, 2);
BEGIN
    IF year = 0 OR month NOT BETWEEN 1 AND 12 OR day = 0 THEN
        RETURN false;
    END IF;
    RETURN day <= extract(day FROM make_date(year, month, 1) + interval '1 month' - interval '1 day');
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
DECLARE
    part text[] := regexp_match(
        given COLLATE "C",
        '^((?:[01][0-9]|2[0-3]):[0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]{1,20}))?)?$'
    );
BEGIN
    RETURN part[1] || ':' || coalesce(part[2], '00') || '.' || rpad(coalesce(part[3], ''), 3, '0');
END
$$;

-- An instant, in UTC where no offset is written.
CREATE OR REPLACE FUNCTION comptoir_instant_of_text(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    part text[] := regexp_match(
        given COLLATE "C",
        '^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]'
        '((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?)(?:[.]([0-9]{1,20}))?'
        '(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))?$'
    );
    moment timestamp;
    ahead interval;
BEGIN
    IF part IS NULL OR NOT comptoir_is_day(part[1]) THEN
        RETURN NULL;
    END IF;
    moment := (part[1] || ' ' || part[2])::timestamp;
    IF part[4] IS NOT NULL THEN
        ahead := make_interval(hours => part[5]::int, mins => part[6]::int);
        moment := CASE part[4] WHEN '+' THEN moment - ahead ELSE moment + ahead END;
        IF moment NOT BETWEEN timestamp '0001-01-01' AND timestamp '9999-12-31 23:59:59' THEN
            RETURN NULL;
        END IF;
    END IF;
    RETURN to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS') || '.'
        || rpad(coalesce(part[3], ''), 3, '0') || 'Z';
END
$$;

CREATE OR REPLACE FUNCTION comptoir_duration_of_text(given text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    part text[] := regexp_match(
        given COLLATE "C",
        '^(-?)[Pp](?=[0-9Tt])(?:([0-9]{1,12})[Dd])?'
        '(?:[Tt](?=[0-9])(?:([0-9]{1,14})[Hh])?(?:([0-9]{1,16})[Mm])?'
        '(?:([0-9]{1,18})(?:[.]([0-9]{1,20}))?[Ss])?)?$'
    );
    span numeric;
BEGIN
    IF part IS NULL THEN
        RETURN NULL;
    END IF;
    span := coalesce(part[2], '0')::numeric * {day}
        + coalesce(part[3], '0')::numeric * {hour}
        + coalesce(part[4], '0')::numeric * {minute}
        + coalesce(part[5], '0')::numeric * {unit}
        + rpad(coalesce(part[6], ''), {scale}, '0')::numeric;
    IF span > {most_decimal} THEN
        RETURN NULL;
    END IF;
    RETURN CASE part[1] WHEN '-' THEN -span ELSE span END;
END
$$;
