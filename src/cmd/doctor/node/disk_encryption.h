#pragma once
#include <optional>
#include <string>

#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::cmd::doctor {

struct NodeEvidence;

/// Whether the Linux block device "253:0" is encrypted, itself or by all devices below it. Nullopt if there is no device, as for an
/// overlay. `files` has /sys.
std::optional<bool> is_encrypted_device(FileSystem& files, const std::string& number);

/// Adds facts about the encryption of the Linux volume that contains `path`. `files` has /proc and /sys.
void look_at_encryption(FileSystem& files, const std::string& path, NodeEvidence& evidence);

/// Adds BitLocker's state of the Windows volume "C:".
Task<> ask_bitlocker(ProcessRunner& processes, std::string volume, NodeEvidence& evidence);

}  // namespace porthole::cmd::doctor
