#include "cni/plugin/errors.h"

namespace porthole::cni {

namespace {

constexpr const char* CauseType = "CNI";

Reason reason_of(CniCode code) {
    switch (code) {
        case CniCode::UnknownContainer:
            return Reason::NotFound;
        case CniCode::Io:
            return Reason::Io;
        case CniCode::TryAgainLater:
        case CniCode::NotAvailable:
        case CniCode::LimitedConnectivity:
        case CniCode::NoAddresses:
            return Reason::Unavailable;
        case CniCode::Internal:
            return Reason::InternalError;
        default:
            return Reason::BadRequest;
    }
}

}  // namespace

Error cni_error(CniCode code, std::string message) {
    Error error(reason_of(code), std::move(message));
    error.details->causes.push_back({CauseType, "", std::to_string(static_cast<unsigned>(code))});
    return error;
}

unsigned code_of(const Error& error) {
    for (const Cause& cause : error.details->causes) {
        if (cause.type == CauseType) return static_cast<unsigned>(std::stoul(cause.field));
    }
    switch (error.reason) {
        case Reason::Unavailable:
        case Reason::Timeout:
            return static_cast<unsigned>(CniCode::TryAgainLater);
        case Reason::Io:
            return static_cast<unsigned>(CniCode::Io);
        default:
            return static_cast<unsigned>(CniCode::Internal);
    }
}

}  // namespace porthole::cni
