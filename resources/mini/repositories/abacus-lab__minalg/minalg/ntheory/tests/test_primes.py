from minalg.ntheory.primes import divisors, factors, is_prime


def test_divisors():
    assert divisors(12) == [1, 2, 3, 4, 6, 12]


def test_divisors_of_primes():
    assert divisors(13) == [1, 13]


def test_factors():
    assert factors(360) == {2: 3, 3: 2, 5: 1}
    assert factors(1) == {}


def test_is_prime():
    assert [n for n in range(20) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19]
