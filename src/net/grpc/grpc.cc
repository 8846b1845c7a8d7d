#include "net/grpc/grpc.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace porthole::net {
namespace {

struct StatusRow {
    GrpcStatus status;
    Reason reason;
};

// Order: where several rows share a reason, the first is what the reason becomes.
constexpr std::array StatusRows{
    StatusRow{GrpcStatus::Unknown, Reason::Unknown},
    // DataLoss says that something is gone for ever. What an operation of the host has failed with is Unknown, as of servers in Go.
    StatusRow{GrpcStatus::Unknown, Reason::Io},
    StatusRow{GrpcStatus::InvalidArgument, Reason::BadRequest},
    StatusRow{GrpcStatus::InvalidArgument, Reason::Invalid},
    StatusRow{GrpcStatus::OutOfRange, Reason::BadRequest},
    StatusRow{GrpcStatus::DeadlineExceeded, Reason::Timeout},
    StatusRow{GrpcStatus::NotFound, Reason::NotFound},
    StatusRow{GrpcStatus::AlreadyExists, Reason::AlreadyExists},
    StatusRow{GrpcStatus::PermissionDenied, Reason::Forbidden},
    StatusRow{GrpcStatus::ResourceExhausted, Reason::TooManyRequests},
    StatusRow{GrpcStatus::FailedPrecondition, Reason::Conflict},
    StatusRow{GrpcStatus::Aborted, Reason::Conflict},
    StatusRow{GrpcStatus::Unimplemented, Reason::MethodNotAllowed},
    StatusRow{GrpcStatus::Internal, Reason::InternalError},
    StatusRow{GrpcStatus::Unavailable, Reason::Unavailable},
    StatusRow{GrpcStatus::Unavailable, Reason::ServiceUnavailable},
    StatusRow{GrpcStatus::DataLoss, Reason::Io},
    StatusRow{GrpcStatus::Unauthenticated, Reason::Unauthorized},
    // Reason::Cancelled is our own task's end; the peer's is one more way of not getting an answer.
    StatusRow{GrpcStatus::Cancelled, Reason::Cancelled},
};

constexpr char StatusCause[] = "GrpcStatus";
constexpr char NotBegunCause[] = "GrpcNotBegun";
constexpr std::size_t PrefixSize = 5;

}  // namespace

Error error_of_grpc(GrpcStatus status, std::string message) {
    Reason reason = Reason::Unknown;
    for (const StatusRow& row : StatusRows) {
        if (row.status == status) {
            reason = row.reason;
            break;
        }
    }
    if (reason == Reason::Cancelled) reason = Reason::Unavailable;
    Error error(reason, std::move(message));
    error.details->causes.push_back({StatusCause, std::to_string(static_cast<int>(status)), ""});
    return error;
}

GrpcStatus grpc_of_reason(Reason reason) {
    for (const StatusRow& row : StatusRows) {
        if (row.reason == reason) return row.status;
    }
    return GrpcStatus::Unknown;
}

GrpcStatus grpc_status_of(const Error& error) {
    for (const Cause& cause : error.details->causes) {
        if (cause.type != StatusCause) continue;
        int status = static_cast<int>(GrpcStatus::Unknown);  // of a cause that another party has written
        std::from_chars(cause.message.data(), cause.message.data() + cause.message.size(), status);
        return static_cast<GrpcStatus>(status);
    }
    return grpc_of_reason(error.reason);
}

Error grpc_not_begun(Error error) {
    error.details->causes.push_back({NotBegunCause, "", ""});
    return error;
}

bool grpc_was_not_begun(const Error& error) {
    return std::ranges::any_of(error.details->causes, [](const Cause& cause) { return cause.type == NotBegunCause; });
}

std::string grpc_frame(std::string_view message) {
    std::string frame;
    frame.reserve(PrefixSize + message.size());
    frame += '\0';  // not compressed
    for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(message.size() >> shift);
    frame += message;
    return frame;
}

Result<std::optional<std::string>> GrpcReassembler::take() {
    const std::size_t available = buffer_.size() - taken_;
    if (available < PrefixSize) return std::optional<std::string>();
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(buffer_[taken_ + i]); };
    if (byte(0) != 0) return Error(Reason::BadRequest, "gRPC: compressed messages are not supported");
    const std::size_t size = std::size_t(byte(1)) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
    if (size > limit_) return Error(Reason::TooManyRequests, "gRPC: message of " + std::to_string(size) + " bytes is too large");
    if (available < PrefixSize + size) return std::optional<std::string>();
    std::string message = buffer_.substr(taken_ + PrefixSize, size);
    taken_ += PrefixSize + size;
    if (taken_ == buffer_.size() || taken_ > (1 << 20)) {
        buffer_.erase(0, taken_);
        taken_ = 0;
    }
    return std::optional(std::move(message));
}

}  // namespace porthole::net
