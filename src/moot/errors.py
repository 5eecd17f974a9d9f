"""What can go wrong: one stable code per class, and a sentence that a person understands."""

from typing import Any, ClassVar


class MootError(Exception):
    """The root: `code` never changes, the message says what is wrong and how to mend it."""

    code: ClassVar[str]

    @property
    def message(self) -> str:
        return str(self)


class InputError(MootError):
    """Something that was asked for is not possible as asked; `field` names it."""

    code = "DEBATE_ERR_INPUT"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFoundError(InputError):
    """There is no debate, format or agent of that name."""


class StateError(MootError):
    """The debate is not in a state that allows this."""

    code = "DEBATE_ERR_STATE"


class ConflictError(StateError):
    """The same key was used for another request."""


class StorageError(MootError):
    """The home, its database or a file in it cannot be used."""

    code = "DEBATE_ERR_STORAGE"


class DuplicateError(StorageError):
    """A row of that key is there already."""


class PacketError(MootError):
    """A decision packet that does not hold what a packet must hold."""

    code = "DEBATE_ERR_PACKET"


class BudgetError(MootError):
    """The tokens or the money that the debate may spend are used up."""

    code = "DEBATE_ERR_BUDGET"


class CancelledError(MootError):
    """The call was called off before its answer was complete."""

    code = "DEBATE_ERR_CANCELLED"


class ProviderError(MootError):
    """A model call that gave no usable answer."""

    code = "DEBATE_ERR_PROVIDER_UNAVAILABLE"
    retryable: ClassVar[bool] = True
    """Whether the same call may go through later, with nothing changed."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: float = 0.0,
        estimated: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds the provider asked us to wait
        self.input_tokens = input_tokens  # what the failed call used all the same
        self.output_tokens = output_tokens
        self.cost_usd = cost_usd
        self.estimated = estimated  # nobody metered it


class ProviderUnavailableError(ProviderError):
    """No connection, a server error, a stream cut half-way."""


class ProviderAbsentError(ProviderUnavailableError):
    """What would speak cannot be started; a person has to mend that."""

    retryable = False


class ProviderAuthError(ProviderError):
    """The key is missing or was refused."""

    code = "DEBATE_ERR_PROVIDER_AUTH"
    retryable = False


class ProviderRateLimitError(ProviderError):
    """The provider asks for slower calls."""

    code = "DEBATE_ERR_PROVIDER_RATE_LIMIT"


class ProviderTimeoutError(ProviderError):
    """The speaker was silent for too long, or spoke for too long."""

    code = "DEBATE_ERR_PROVIDER_TIMEOUT"


class ProviderRefusedError(ProviderError):
    """The model declined to answer. Asking again, word for word, rarely changes its mind."""

    code = "DEBATE_ERR_PROVIDER_REFUSED"
    retryable = False


class ProviderEmptyError(ProviderError):
    """Nothing was left of the answer once it was cleaned."""

    code = "DEBATE_ERR_PROVIDER_EMPTY"


class ProviderInvalidError(ProviderError):
    """The answer, or the wire it came over, did not have the shape it should have."""

    code = "DEBATE_ERR_PROVIDER_INVALID"


class ProviderRejectedError(ProviderInvalidError):
    """The request itself was not accepted; the same again would not be, either."""

    retryable = False


class ProviderShapeError(ProviderInvalidError):
    """A structured answer without its shape. The model is shown the problem, once."""

    def __init__(self, message: str, *, said: str, problem: str, **used: Any) -> None:
        super().__init__(message, **used)
        self.said = said
        self.problem = problem


class ProviderEchoError(ProviderInvalidError):
    """A speech that was made before. The model is asked for another, once."""


class ProviderContextError(ProviderError):
    """The prompt is larger than the model's window; a shorter one may fit."""

    code = "DEBATE_ERR_PROVIDER_CONTEXT"


class ProviderUnknownModelError(ProviderError):
    """The provider has no model of that name."""

    code = "DEBATE_ERR_PROVIDER_UNKNOWN_MODEL"
    retryable = False


WARN_PROVIDER_NORMALIZED = "DEBATE_WARN_PROVIDER_NORMALIZED"
WARN_ROLE_IGNORED = "DEBATE_WARN_ROLE_IGNORED"
WARN_FILES_AHEAD = "DEBATE_WARN_FILES_AHEAD"
WARN_UNPRICED = "DEBATE_WARN_UNPRICED"
WARN_WEAK_HOST = "DEBATE_WARN_WEAK_HOST"
