#include "cmd/lint/lint_files.h"

#include <algorithm>
#include <filesystem>

namespace porthole::cmd::lint {
namespace {

constexpr int DeepestDirectory = 64;

bool is_manifest(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"); }

Result<void> add_directory(FileSystem& files, const Source& directory, int depth, std::vector<Source>& found) {
    if (depth > DeepestDirectory) return Error(Reason::BadRequest, directory.name + " is too deep");
    TRY(const std::vector<std::string> names, files.list(directory.path));
    for (const std::string& name : names) {
        if (name.starts_with('.')) continue;
        const std::string slash = directory.name.ends_with('/') ? "" : "/";
        const Source below{directory.name + slash + name, directory.path + "/" + name, false};
        TRY(const FileStatus status, files.link_status(below.path));
        if (status.is_directory()) {
            TRY_VOID(add_directory(files, below, depth + 1, found));
        } else if (status.is_regular() && is_manifest(name)) {
            if (found.size() == MostFiles) return Error(Reason::BadRequest, "there are more than " + std::to_string(MostFiles) + " files");
            found.push_back(below);
        }
    }
    return {};
}

}  // namespace

Result<std::vector<Source>> find_sources(FileSystem& files, const std::vector<std::string>& paths) {
    std::vector<Source> found;
    for (const std::string& path : paths) {
        const Source source{path, std::filesystem::absolute(path).generic_string(), true};
        TRY(const FileStatus status, files.status(source.path));
        if (status.is_directory()) {
            TRY_VOID(add_directory(files, source, 0, found));
        } else {
            found.push_back(source);
        }
    }
    return found;
}

}  // namespace porthole::cmd::lint
