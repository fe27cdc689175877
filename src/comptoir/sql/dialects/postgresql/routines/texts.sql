-- Python's str.lower, str.upper, str.casefold and str.strip. The database changes the case of ASCII
-- itself, under the collation "C"; these statements contain the rules of Python for the rest.

-- A text with some characters replaced. `by` maps each of these to its replacement, which contains
-- none of them, and `others` is a character class of those that stay.
CREATE OR REPLACE FUNCTION comptoir_changed(given text, others text, by jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    made text := given;
    changing text := regexp_replace(given COLLATE "C", others, '', 'g');
BEGIN
    WHILE changing <> '' LOOP
        made := replace(made, left(changing, 1), by ->> left(changing, 1));
        changing := replace(changing, left(changing, 1), '');
    END LOOP;
    RETURN made;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_tolower(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    made text COLLATE "C" := lower(given COLLATE "C");
BEGIN
    IF octet_length(given) = char_length(given) THEN
        RETURN made;
    END IF;
    IF strpos(made, 'Σ') > 0 THEN
        made := regexp_replace(
            made, '([{cased}][{ignorable}]*)Σ(?![{ignorable}]*[{cased}])', E'\\1ς', 'g'
        );
    END IF;
    RETURN comptoir_changed(made, {not_lowered}, {lowered});
END
$$;

CREATE OR REPLACE FUNCTION comptoir_toupper(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    made text COLLATE "C" := upper(given COLLATE "C");
BEGIN
    IF octet_length(given) = char_length(given) THEN
        RETURN made;
    END IF;
    RETURN comptoir_changed(made, {not_uppered}, {uppered});
END
$$;

CREATE OR REPLACE FUNCTION comptoir_casefold(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    made text COLLATE "C" := lower(given COLLATE "C");
BEGIN
    IF octet_length(given) = char_length(given) THEN
        RETURN made;
    END IF;
    RETURN comptoir_changed(made, {not_folded}, {folded});
END
$$;

-- Texts folded for searches, separated by a capital letter, which no folded text contains.
CREATE OR REPLACE FUNCTION comptoir_fold(texts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    joined text COLLATE "C" := array_to_string(texts, '{separator}');
    folded text;
BEGIN
    IF octet_length(joined) = char_length(joined) + cardinality(texts) - 1 THEN
        -- all of it is ASCII but the separators, which have two octets each
        RETURN lower(joined);
    END IF;
    FOR number IN 1..cardinality(texts) LOOP
        folded := coalesce(folded || '{separator}', '') || comptoir_casefold(texts[number]);
    END LOOP;
    RETURN folded;
END
$$;

-- The pattern of LIKE for the texts that contain a term.
CREATE OR REPLACE FUNCTION comptoir_likeness(term text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT '%' || replace(replace(replace(term, E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_') || '%'
$$;

CREATE OR REPLACE FUNCTION comptoir_trim(given text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT btrim(given, {blanks}) $$;

-- The text from a position; a negative position counts from the end.
CREATE OR REPLACE FUNCTION comptoir_substring(given text, start bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF start < 0 THEN
        RETURN right(given, -greatest(start, -{most_characters})::int);
    END IF;
    RETURN substr(given, least(start, {most_characters})::int + 1);
END
$$;

CREATE OR REPLACE FUNCTION comptoir_substring(given text, start bigint, characters bigint)
RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF characters < 0 THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'NEGATIVE_SUBSTRING',
            DETAIL = characters::text;
    END IF;
    RETURN left(comptoir_substring(given, start), least(characters, {most_characters})::int);
END
$$;
