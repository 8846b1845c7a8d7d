#include "kubelet/volumes/atomic_writer/atomic_writer.h"

#include <algorithm>
#include <set>

#include "base/time.h"

namespace porthole::kubelet {
namespace {

constexpr const char* DataLink = "..data";
constexpr const char* NewDataLink = "..data_tmp";

Result<void> check_path(const std::string& path) {
    const auto invalid = [&](const char* why) { return Error(Reason::BadRequest, "invalid path \"" + path + "\": " + why); };
    if (path.empty()) return invalid("must not be empty");
    if (path.starts_with('/')) return invalid("must be relative");
    if (path.starts_with("..")) return invalid("must not start with '..'");
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t slash = std::min(path.find('/', at), path.size());
        if (path.substr(at, slash - at) == "..") return invalid("must not contain '..'");
        at = slash + 1;
    }
    return {};
}

std::string top_level(const std::string& path) { return path.substr(0, path.find('/')); }

std::set<std::string> top_level_names(const Payload& payload) {
    std::set<std::string> names;
    for (const auto& [path, file] : payload) names.insert(top_level(path));
    return names;
}

std::string timestamp(const Clock& clock) {
    std::string text = Timestamp(clock.wall_now()).to_string();  // 2026-01-31T12:00:00Z
    text.pop_back();
    std::ranges::replace_if(text, [](char c) { return c == '-' || c == ':' || c == 'T'; }, '_');
    return text;
}

}  // namespace

Result<bool> AtomicWriter::write(const Payload& payload, std::optional<std::uint32_t> group) {
    for (const auto& [path, file] : payload) TRY_VOID(check_path(path));
    if (is_current(payload)) return false;
    const auto old = files_.read_link(directory_ + "/" + DataLink);
    TRY(const std::string fresh, write_new_directory(payload, group));
    (void)files_.remove(directory_ + "/" + NewDataLink);
    TRY_VOID(files_.create_symlink(fresh, directory_ + "/" + NewDataLink));
    TRY_VOID(replace_data_link());
    TRY_VOID(link_top_level(payload));
    TRY_VOID(remove_stale(payload));
    if (old) TRY_VOID(files_.remove_all(directory_ + "/" + base_name(*old)));
    return true;
}

bool AtomicWriter::is_current(const Payload& payload) {
    const auto target = files_.read_link(directory_ + "/" + DataLink);
    if (!target) return false;
    const std::string data = directory_ + "/" + base_name(*target);
    std::set<std::string> present;
    for (const std::string& name : files_.list(data).value_or(std::vector<std::string>())) present.insert(name);
    if (present != top_level_names(payload)) return false;
    for (const auto& [path, file] : payload) {
        const std::string at = data + "/" + path;
        const auto status = files_.status(at);
        if (!status || status->size != file.contents.size() || status->mode != file.mode) return false;
        if (files_.read(at).value_or("") != file.contents) return false;
    }
    // A file that was dropped from a subdirectory leaves the others as they are; count them.
    std::size_t files = 0;
    std::vector<std::string> open{data};
    while (!open.empty()) {
        const std::string directory = std::move(open.back());
        open.pop_back();
        for (const std::string& name : files_.list(directory).value_or(std::vector<std::string>())) {
            const auto status = files_.link_status(directory + "/" + name);
            if (status && status->is_directory()) {
                open.push_back(directory + "/" + name);
            } else {
                ++files;
            }
        }
    }
    return files == payload.size();
}

Result<std::string> AtomicWriter::write_new_directory(const Payload& payload, std::optional<std::uint32_t> group) {
    const std::string name = ".." + timestamp(clock_) + "." + random_.pick(10, "0123456789");
    const std::string directory = directory_ + "/" + name;
    TRY_VOID(files_.create_directories(directory, 0755));
    for (const auto& [path, file] : payload) {
        const std::string at = directory + "/" + path;
        if (path.find('/') != std::string::npos) TRY_VOID(files_.create_directories(parent_path(at), 0755));
        TRY_VOID(files_.write(at, file.contents, file.mode));
        if (file.owner || group) TRY_VOID(files_.change_owner(at, file.owner, group));
    }
    return name;
}

/// Windows cannot rename over a link to a directory: there, readers may find no files for a moment.
Result<void> AtomicWriter::replace_data_link() {
    const std::string fresh = directory_ + "/" + NewDataLink, link = directory_ + "/" + DataLink;
    if (files_.rename(fresh, link)) return {};
    if (files_.exists(link)) TRY_VOID(files_.remove(link));
    return files_.rename(fresh, link);
}

Result<void> AtomicWriter::link_top_level(const Payload& payload) {
    for (const std::string& name : top_level_names(payload)) {
        const std::string at = directory_ + "/" + name;
        if (!files_.exists(at)) TRY_VOID(files_.create_symlink(std::string(DataLink) + "/" + name, at));
    }
    return {};
}

Result<void> AtomicWriter::remove_stale(const Payload& payload) {
    const std::set<std::string> wanted = top_level_names(payload);
    TRY(const auto names, files_.list(directory_));
    for (const std::string& name : names) {
        if (name.starts_with("..") || wanted.contains(name)) continue;
        const auto status = files_.link_status(directory_ + "/" + name);
        if (status && status->type == FileType::Symlink) TRY_VOID(files_.remove(directory_ + "/" + name));
    }
    return {};
}

}  // namespace porthole::kubelet
