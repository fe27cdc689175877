-- Sums and averages: PostgreSQL computes them exactly, in numeric; these check that results fit.

-- Refuses a sum larger than `most` with a row of errors.
CREATE OR REPLACE FUNCTION comptoir_total(given numeric, most numeric, refusal text)
RETURNS numeric
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF abs(given) > most THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = refusal, DETAIL = 'a sum';
    END IF;
    RETURN given;
END
$$;

-- The average of `numbers` numbers, rounded to a Decimal; null for none.
CREATE OR REPLACE FUNCTION comptoir_mean(total numeric, numbers bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
    result numeric := comptoir_nearest_even(total * {unit}, numbers);
BEGIN
    IF abs(result) > {most_decimal} THEN
        RAISE EXCEPTION USING ERRCODE = '{not_computed}', MESSAGE = 'BEYOND_DIGITS',
            DETAIL = 'an average';
    END IF;
    RETURN result;
END
$$;
