#pragma once
#include <string_view>

namespace porthole {

/// What a code of Windows' sockets (10048, WSAEADDRINUSE) means, in the words that Linux has for the same error; "" for other codes, such
/// as all of Linux. Wine has no texts for them, and Windows' own are sentences in the language of the host.
std::string_view socket_error_words(int code);

}  // namespace porthole
