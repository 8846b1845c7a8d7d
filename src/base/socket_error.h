#pragma once
#include <string_view>

namespace porthole {

/// The Linux text for an error code of Windows' sockets (10048, WSAEADDRINUSE); "" for other codes, such as all of Linux. Wine has no texts
/// for these codes, and Windows' own are sentences in the language of the host.
std::string_view socket_error_words(int code);

}  // namespace porthole
