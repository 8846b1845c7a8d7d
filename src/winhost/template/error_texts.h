#pragma once
#include <string>

namespace porthole::winhost {

/// Gives kernelbase.dll, from which FormatMessage takes the texts of error codes, Windows' English words for the commonest of them: Wine
/// has its own ("Access denied."), while people, scripts and tests look for Windows' ("Access is denied."). The table goes into a section
/// of its own, as it becomes longer. False, with nothing changed, where the file is not made as expected.
bool use_windows_error_texts(std::string& image);

}  // namespace porthole::winhost
