from minalg.ntheory.table import count_primes, nth_prime, primes


def test_table_begins():
    assert primes()[:5] == [2, 3, 5, 7, 11]


def test_count():
    assert count_primes(1) == 0
    assert count_primes(100) == 25


def test_beyond_the_table():
    try:
        nth_prime(1000)
    except IndexError:
        return
    assert False, "the table has no thousandth prime"
