#pragma once  // private to this folder
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// Records that the template is used now.
Result<void> mark_used(FileSystem& files, const std::string& template_folder);

/// Directories of templates in `cache` that may be deleted: neither one of the two most recently used, nor used within the hour before
/// `now`, nor below one of the mounts of `mountinfo` (the text of /proc/self/mountinfo).
std::vector<std::string> find_unused_templates(FileSystem& files, const std::string& cache, const std::string& mountinfo,
                                               std::chrono::sys_time<std::chrono::nanoseconds> now);

/// Renames the directory and then deletes it, so that no program finds it incomplete. Blocking. Error: Io.
Result<void> drop_template(FileSystem& files, const std::string& folder);

}  // namespace porthole::winhost
