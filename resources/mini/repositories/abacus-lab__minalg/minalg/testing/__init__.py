"""What tests say about themselves."""


class XFail(Exception):
    """A test that is expected to fail has failed."""


class XPass(Exception):
    """A test that is expected to fail has passed."""


def XFAIL(test):
    """Mark a test of something that is known not to work yet."""

    def expected_to_fail():
        try:
            test()
        except Exception as error:
            raise XFail(test.__name__) from error
        raise XPass(test.__name__)

    expected_to_fail.__name__ = test.__name__
    return expected_to_fail
