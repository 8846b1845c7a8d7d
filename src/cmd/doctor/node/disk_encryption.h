#pragma once
#include <optional>
#include <string>

#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::cmd::doctor {

struct NodeEvidence;

/// Whether the Linux block device "253:0" is encrypted, itself or by all that it is made of. Nothing where there is none, such as for
/// a file system of files. `files` has /sys.
std::optional<bool> is_encrypted_device(FileSystem& files, const std::string& number);

/// Adds what is known of the encryption of the Linux volume that has `path`. `files` has /proc and /sys.
void look_at_encryption(FileSystem& files, const std::string& path, NodeEvidence& evidence);

/// Adds what BitLocker says of the Windows volume "C:".
Task<> ask_bitlocker(ProcessRunner& processes, std::string volume, NodeEvidence& evidence);

}  // namespace porthole::cmd::doctor
