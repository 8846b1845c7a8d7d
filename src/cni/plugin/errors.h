#pragma once
#include <string>

#include "base/result.h"

namespace porthole::cni {

/// Error codes of the CNI specification; from 100 on they are the plugin's.
enum class CniCode : unsigned {
    IncompatibleVersion = 1,
    UnsupportedField = 2,
    UnknownContainer = 3,
    InvalidEnvironment = 4,
    Io = 5,
    Decode = 6,
    InvalidConfig = 7,
    TryAgainLater = 11,
    NotAvailable = 50,
    LimitedConnectivity = 51,
    NoAddresses = 100,
    Internal = 999,
};

/// An error that carries its code to the runtime.
Error cni_error(CniCode code, std::string message);
/// The code of cni_error(), else one that fits the reason.
unsigned code_of(const Error& error);

}  // namespace porthole::cni
