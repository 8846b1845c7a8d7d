#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

/// Conversions of Windows' text and errors. Windows only; needs no Windows header.
namespace porthole {

/// UTF-8 to UTF-16 and back. Invalid sequences become U+FFFD.
std::wstring to_wide(std::string_view text);
std::string to_utf8(std::wstring_view text);

/// "access is denied (error 5)", for the middle of a sentence; in English if Windows has it.
std::string system_error_text(unsigned long code);

/// An error from a Win32 code: `what` and the system's text. Reason: NotFound, AlreadyExists, Forbidden, or `otherwise`.
Error windows_error(std::string_view what, unsigned long code, Reason otherwise = Reason::Io);

}  // namespace porthole
