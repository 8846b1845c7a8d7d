#pragma once  // private to this folder
#include <windows.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

/// What the files of the Windows file system share: paths as Windows takes them, and access lists.
namespace porthole::windows_files {

std::wstring native_path(const std::string& path);
/// "read C:\\a: access is denied"
Error file_error(const char* what, const std::string& path, DWORD code = GetLastError());

/// What mode 0600 and 0700 mean here: the system, administrators and the user of this process, and nothing inherited.
Result<void> keep_private(const std::string& path);
/// The same for a new file or directory, so that it is private as soon as it is there.
SECURITY_ATTRIBUTES* private_attributes();
/// Whether the file's list is protected from the directories above.
Result<bool> is_restricted(const std::string& path);
/// The system and administrators, and for reading those whom `readers` has, by the bytes of their SIDs.
Result<void> restrict_to_administrators(const std::string& path, const std::vector<std::vector<std::byte>>& readers);
/// The bytes of a SID, from its text or from the name of an account of this machine.
Result<std::vector<std::byte>> sid_of(const std::string& account);
/// Adds a rule to the file's list, which what is made in a directory later inherits.
Result<void> let_read(const std::string& path, const std::vector<std::byte>& sid);

}  // namespace porthole::windows_files
