-- Numbers: exact, computed in PostgreSQL's numeric, or an error. Whole numbers are integers, Decimals
-- are integers of hundred-thousandths, wide decimals are texts (plan/expressions/types.py).

-- The numeric value of a stored Decimal.
CREATE OR REPLACE FUNCTION comptoir_exact(given bigint) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT given * {fifth} $$;

-- The numeric value of a wide decimal.
CREATE OR REPLACE FUNCTION comptoir_exact(given text) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT (given::numeric - {largest}) * {finest} $$;

-- A stored Decimal as a wide decimal.
CREATE OR REPLACE FUNCTION comptoir_widen(given bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT lpad((given * {finer} + {largest})::text, {width}, '0') $$;

CREATE OR REPLACE FUNCTION comptoir_negate_wide(given text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT lpad((2 * {largest} - given::numeric)::text, {width}, '0') $$;

-- Bounds a whole number to the digits that a Decimal has before its decimal point.
CREATE OR REPLACE FUNCTION comptoir_bounded(given bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    RETURN greatest(least(given, {beyond_decimals}), -{beyond_decimals});
END
$$;

CREATE OR REPLACE FUNCTION comptoir_whole(one bigint, operation text, other bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    result numeric;
BEGIN
    IF other = 0 AND operation IN ('div', 'mod') THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'DIVIDED_BY_ZERO',
            DETAIL = one || ' ' || operation || ' 0';
    END IF;
    result := CASE operation
        WHEN 'add' THEN one::numeric + other
        WHEN 'sub' THEN one::numeric - other
        WHEN 'mul' THEN one::numeric * other
        WHEN 'div' THEN div(one, other)
        WHEN 'mod' THEN mod(one::numeric, other)
    END;
    IF abs(result) > {most_whole} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'BEYOND_BITS',
            DETAIL = one || ' ' || operation || ' ' || other;
    END IF;
    RETURN result;
END
$$;

-- An operation on Decimals; the second operand of a multiplication is a whole number.
CREATE OR REPLACE FUNCTION comptoir_decimal(one bigint, operation text, other bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    result numeric;
BEGIN
    IF other = 0 AND operation = 'mod' THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'DIVIDED_BY_ZERO',
            DETAIL = trim_scale(comptoir_exact(one)) || ' mod 0';
    END IF;
    result := CASE operation
        WHEN 'add' THEN one::numeric + other
        WHEN 'sub' THEN one::numeric - other
        WHEN 'mul' THEN one::numeric * other
        WHEN 'mod' THEN mod(one::numeric, other)
    END;
    IF abs(result) > {most_decimal} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'BEYOND_DIGITS',
            DETAIL = trim_scale(comptoir_exact(one)) || ' ' || operation || ' '
                || CASE operation WHEN 'mul' THEN other ELSE trim_scale(comptoir_exact(other)) END;
    END IF;
    RETURN result;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_wide(one numeric, operation text, other numeric) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    result numeric;
BEGIN
    IF other = 0 AND operation = 'mod' THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'DIVIDED_BY_ZERO',
            DETAIL = trim_scale(one) || ' mod 0';
    END IF;
    result := CASE operation
        WHEN 'add' THEN one + other
        WHEN 'sub' THEN one - other
        WHEN 'mul' THEN one * other
        WHEN 'mod' THEN mod(one, other)
    END;
    IF result <> trunc(result, {wide_scale}) THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'TOO_FINE',
            DETAIL = trim_scale(one) || ' ' || operation || ' ' || trim_scale(other);
    END IF;
    IF abs(result) >= {beyond_decimals} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'BEYOND_DIGITS',
            DETAIL = trim_scale(one) || ' ' || operation || ' ' || trim_scale(other);
    END IF;
    RETURN lpad(trunc((result + {beyond_decimals}) * {wide_unit})::text, {width}, '0');
END
$$;

-- The quotient to the nearest whole number, halves to the even one; `other` is not zero.
CREATE OR REPLACE FUNCTION comptoir_nearest_even(one numeric, other numeric) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    quotient numeric := div(abs(one), abs(other));
    twice_rest numeric := 2 * (abs(one) - quotient * abs(other));
BEGIN
    IF twice_rest > abs(other) OR (twice_rest = abs(other) AND mod(quotient, 2) = 1) THEN
        quotient := quotient + 1;
    END IF;
    RETURN CASE WHEN (one < 0) <> (other < 0) THEN -quotient ELSE quotient END;
END
$$;

CREATE OR REPLACE FUNCTION comptoir_div_decimal(one numeric, other numeric) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    result numeric;
BEGIN
    IF other = 0 THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'DIVIDED_BY_ZERO',
            DETAIL = trim_scale(one) || ' div 0';
    END IF;
    result := comptoir_nearest_even(one * {unit}, other);
    IF abs(result) > {most_decimal} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'BEYOND_DIGITS',
            DETAIL = trim_scale(one) || ' div ' || trim_scale(other);
    END IF;
    RETURN result;
END
$$;

-- A number rounded to an integer, as a Decimal; `direction` is round, floor or ceiling.
CREATE OR REPLACE FUNCTION comptoir_rounded(given numeric, direction text) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    result numeric := {unit} * CASE direction
        WHEN 'round' THEN round(given)
        WHEN 'floor' THEN floor(given)
        WHEN 'ceiling' THEN ceil(given)
    END;
BEGIN
    IF abs(result) > {most_decimal} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'BEYOND_DIGITS',
            DETAIL = direction || ' of ' || trim_scale(given);
    END IF;
    RETURN result;
END
$$;

-- A whole number as a Decimal.
CREATE OR REPLACE FUNCTION comptoir_scale_checked(given bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given NOT BETWEEN -{largest_scaled} AND {largest_scaled} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'TOO_MANY_DIGITS',
            DETAIL = given::text;
    END IF;
    RETURN given * {unit};
END
$$;

-- A wide decimal as a Decimal.
CREATE OR REPLACE FUNCTION comptoir_narrow(given numeric) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF given <> trunc(given, {scale}) THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'TOO_MANY_DECIMALS',
            DETAIL = trim_scale(given)::text;
    END IF;
    RETURN given * {unit};
END
$$;
