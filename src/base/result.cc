#include "base/result.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace porthole {
namespace {

struct ReasonRow {
    Reason reason;
    const char* name;
    int code;
};

// Order: where several reasons share a code, the one to be read from a bare code comes first.
constexpr std::array Rows{
    ReasonRow{Reason::BadRequest, "BadRequest", 400},
    ReasonRow{Reason::Unauthorized, "Unauthorized", 401},
    ReasonRow{Reason::Forbidden, "Forbidden", 403},
    ReasonRow{Reason::NotFound, "NotFound", 404},
    ReasonRow{Reason::MethodNotAllowed, "MethodNotAllowed", 405},
    ReasonRow{Reason::NotAcceptable, "NotAcceptable", 406},
    ReasonRow{Reason::Conflict, "Conflict", 409},
    ReasonRow{Reason::AlreadyExists, "AlreadyExists", 409},
    ReasonRow{Reason::Expired, "Expired", 410},
    ReasonRow{Reason::Gone, "Gone", 410},
    ReasonRow{Reason::RequestEntityTooLarge, "RequestEntityTooLarge", 413},
    ReasonRow{Reason::UnsupportedMediaType, "UnsupportedMediaType", 415},
    ReasonRow{Reason::Invalid, "Invalid", 422},
    ReasonRow{Reason::TooManyRequests, "TooManyRequests", 429},
    ReasonRow{Reason::InternalError, "InternalError", 500},
    ReasonRow{Reason::ServerTimeout, "ServerTimeout", 500},
    ReasonRow{Reason::Io, "", 500},
    ReasonRow{Reason::Unknown, "", 500},
    ReasonRow{Reason::ServiceUnavailable, "ServiceUnavailable", 503},
    ReasonRow{Reason::Unavailable, "ServiceUnavailable", 503},
    ReasonRow{Reason::Cancelled, "ServiceUnavailable", 503},
    ReasonRow{Reason::Timeout, "Timeout", 504},
};

const ReasonRow& row_of(Reason reason) {
    for (const ReasonRow& row : Rows) {
        if (row.reason == reason) return row;
    }
    check_failed("every reason has a row", __FILE__, __LINE__);
}

}  // namespace

ErrorDetailsBox::ErrorDetailsBox(const ErrorDetailsBox& other)
    : details_(other.details_ ? std::make_unique<ErrorDetails>(*other.details_) : nullptr) {}
ErrorDetailsBox::ErrorDetailsBox(ErrorDetailsBox&& other) noexcept = default;
ErrorDetailsBox& ErrorDetailsBox::operator=(ErrorDetailsBox other) noexcept {
    details_.swap(other.details_);
    return *this;
}
ErrorDetailsBox::~ErrorDetailsBox() = default;

const ErrorDetails& ErrorDetailsBox::operator*() const {
    static const ErrorDetails empty;
    return details_ ? *details_ : empty;
}

ErrorDetails& ErrorDetailsBox::operator*() {
    if (!details_) details_ = std::make_unique<ErrorDetails>();
    return *details_;
}

Error::Error() = default;
Error::Error(Reason reason, std::string message) : reason(reason), message(std::move(message)) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

Error Error::with_context(const std::string& context) && {
    message = context + ": " + message;
    return std::move(*this);
}

const char* to_string(Reason reason) { return row_of(reason).name; }

int http_code(Reason reason) { return row_of(reason).code; }
int http_code(const Error& error) { return error.details->code ? error.details->code : http_code(error.reason); }

Reason reason_of_http_code(int code) {
    for (const ReasonRow& row : Rows) {
        if (row.code == code) return row.reason;
    }
    return Reason::Unknown;
}

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "porthole: broken invariant at %s:%d: %s\n", file, line, condition);
    std::abort();
}

}  // namespace porthole
