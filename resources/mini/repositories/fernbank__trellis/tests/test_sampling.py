from trellis.sampling import sample, shuffled


def test_shuffled_loses_nothing():
    assert sorted(shuffled(range(100))) == list(range(100))


def test_a_sample_has_the_size_asked_for():
    assert len(sample("abcdefgh", 20)) == 20


def test_a_sample_has_only_given_values():
    assert set(sample([1, 2, 3, 4], 50)) <= {1, 2, 3, 4}
