#pragma once  // private to this folder
#include <windows.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

/// Shared by the source files of the Windows file system: paths in Windows' form, and access lists.
namespace porthole::windows_files {

std::wstring native_path(const std::string& path);
/// "read C:\\a: access is denied"
Error file_error(const char* what, const std::string& path, DWORD code = GetLastError());

/// The equivalent of modes 0600 and 0700: access for the system, administrators and the user of this process, and nothing inherited.
Result<void> keep_private(const std::string& path);
/// The same for a new file or directory, so that it is private from its creation.
SECURITY_ATTRIBUTES* private_attributes();
/// Whether the file's list is protected from the directories above.
Result<bool> is_restricted(const std::string& path);
/// Access for the system and administrators, and read access for `readers`, given by the bytes of their SIDs.
Result<void> restrict_to_administrators(const std::string& path, const std::vector<std::vector<std::byte>>& readers);
/// The bytes of a SID, from its text or from the name of an account of this machine.
Result<std::vector<std::byte>> sid_of(const std::string& account);
/// Adds a rule to the file's list, which objects created later in a directory inherit.
Result<void> let_read(const std::string& path, const std::vector<std::byte>& sid);

}  // namespace porthole::windows_files
