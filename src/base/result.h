#pragma once
#include <concepts>
#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace porthole {

/// Why something failed: Kubernetes' own status reasons (apimachinery `StatusReason`) and a few that never leave the process.
enum class Reason {
    // Sent on the wire.
    Unknown,
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    AlreadyExists,
    Conflict,
    Gone,
    Expired,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServiceUnavailable,
    ServerTimeout,
    Timeout,
    // Internal only.
    Cancelled,    ///< the task's scope is closing
    Unavailable,  ///< a peer cannot be reached; trying again may help
    Io,           ///< the operating system reports a failure
};

/// The reason's wire name, for example "NotFound"; "" for Unknown and for internal reasons.
const char* to_string(Reason reason);
/// The HTTP status code that carries `reason`.
int http_code(Reason reason);
/// The reason of a status code that came without one.
Reason reason_of_http_code(int code);

/// One cause of a failure, as in `Status.details.causes`.
struct Cause {
    std::string type;     ///< for example "FieldValueRequired"
    std::string message;  ///< for people
    std::string field;    ///< path, for example "spec.containers[0].name"; may be empty
};

/// What a failure was about, as in `Status.details`. All fields may be empty; `retry_after_seconds` 0 means not set.
struct ErrorDetails {
    std::string name, group, kind, uid;
    std::vector<Cause> causes;
    int retry_after_seconds = 0;
    int code = 0;  ///< HTTP status code if it is not that of the reason; 0: it is
};

/// ErrorDetails behind one pointer, which is null while they are empty, as in most errors. Copies are deep.
class ErrorDetailsBox {
public:
    ErrorDetailsBox() = default;
    ErrorDetailsBox(const ErrorDetailsBox& other);
    ErrorDetailsBox(ErrorDetailsBox&& other) noexcept;
    ErrorDetailsBox& operator=(ErrorDetailsBox other) noexcept;
    ~ErrorDetailsBox();

    const ErrorDetails& operator*() const;
    const ErrorDetails* operator->() const { return &**this; }
    ErrorDetails& operator*();
    ErrorDetails* operator->() { return &**this; }

private:
    std::unique_ptr<ErrorDetails> details_;
};

/// A failure as data: it becomes a Kubernetes `Status`, and callers branch on the reason.
///
/// Small, with its special members out of line, because every coroutine frame holds a Result.
struct Error {
    Reason reason = Reason::Unknown;
    std::string message;
    ErrorDetailsBox details;

    Error();
    Error(Reason reason, std::string message);
    Error(const Error& other);
    Error(Error&& other) noexcept;
    Error& operator=(const Error& other);
    Error& operator=(Error&& other) noexcept;
    ~Error();
    /// The same error with `context` and ": " in front of the message.
    Error with_context(const std::string& context) &&;
};

/// A T, or the Error that explains why there is none.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
public:
    using Base = std::expected<T, Error>;
    using Base::Base;
    Result(Base base) : Base(std::move(base)) {}
    Result(Error error) : Base(std::unexpect, std::move(error)) {}
};

/// The HTTP status code that carries the error.
int http_code(const Error& error);

/// Ends the process with `message`: an invariant of the program is broken.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

// Common questions about failures.

inline bool is_cancelled(const Error& error) { return error.reason == Reason::Cancelled; }

/// Whether it failed because the task's scope is closing. The task then returns the error without logging it or retrying.
template <class T>
bool is_cancelled(const Result<T>& result) {
    return !result && is_cancelled(result.error());
}

/// Whether it failed because the object, or the file, does not exist.
template <class T>
bool is_not_found(const Result<T>& result) {
    return !result && result.error().reason == Reason::NotFound;
}

/// Success if the object does not exist: to delete or update an object that may already be deleted.
/// CO_TRY_VOID(ignore_not_found(co_await client.remove<Pod>(key)));
template <class T>
Result<void> ignore_not_found(Result<T> result) {
    if (result || is_not_found(result)) return {};
    return std::move(result).error();
}

}  // namespace porthole

/// For guarantees of the program itself; never for input from a user, a peer, a disk or the operating system.
#define CHECK(condition) ((condition) ? static_cast<void>(0) : ::porthole::check_failed(#condition, __FILE__, __LINE__))

#define PORTHOLE_CAT_(a, b) a##b
#define PORTHOLE_CAT(a, b) PORTHOLE_CAT_(a, b)
#define PORTHOLE_TRY_(tmp, decl, ret, ...)            \
    auto&& tmp = (__VA_ARGS__);                       \
    if (!tmp.has_value()) ret std::move(tmp).error(); \
    decl = *std::move(tmp)
#define PORTHOLE_CHECK_(tmp, ret, ...) \
    if (auto&& tmp = (__VA_ARGS__); !tmp.has_value()) ret std::move(tmp).error()

/// In a function: `TRY(auto pod, parse_pod(bytes));` declares pod or returns the error.
#define TRY(decl, ...) PORTHOLE_TRY_(PORTHOLE_CAT(try_, __LINE__), decl, return, __VA_ARGS__)
/// In a coroutine: `CO_TRY(auto pods, co_await client.list_pods(ns));`
#define CO_TRY(decl, ...) PORTHOLE_TRY_(PORTHOLE_CAT(try_, __LINE__), decl, co_return, __VA_ARGS__)
/// In a function, if the value is not needed.
#define TRY_VOID(...) PORTHOLE_CHECK_(PORTHOLE_CAT(try_, __LINE__), return, __VA_ARGS__)
/// In a coroutine, if the value is not needed.
#define CO_TRY_VOID(...) PORTHOLE_CHECK_(PORTHOLE_CAT(try_, __LINE__), co_return, __VA_ARGS__)
