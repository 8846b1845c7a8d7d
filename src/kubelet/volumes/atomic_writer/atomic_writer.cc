#include "kubelet/volumes/atomic_writer/atomic_writer.h"

#include <algorithm>
#include <set>

#include "base/time/time.h"

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
    const auto linked = files_.create_symlink(fresh, directory_ + "/" + NewDataLink);
    if (!linked && linked.error().reason == Reason::MethodNotAllowed) {
        TRY_VOID(write_without_links(payload, directory_ + "/" + fresh));
        return true;
    }
    TRY_VOID(linked);
    TRY_VOID(replace_data_link());
    TRY_VOID(link_top_level(payload));
    TRY_VOID(remove_stale(payload));
    if (old) TRY_VOID(files_.remove_all(directory_ + "/" + base_name(*old)));
    return true;
}

/// Where a system has no links, each file is replaced by itself: readers see old or new files, for a moment some of each.
Result<void> AtomicWriter::write_without_links(const Payload& payload, const std::string& fresh) {
    for (const auto& [path, file] : payload) {
        const std::string at = directory_ + "/" + path;
        TRY_VOID(files_.create_directories(parent_path(at), 0755));
        TRY_VOID(files_.rename(fresh + "/" + path, at));
    }
    TRY_VOID(files_.remove_all(fresh));
    for (const std::string& path : files_below(directory_))
        if (!payload.contains(path)) TRY_VOID(files_.remove(directory_ + "/" + path));
    return {};
}

/// By path relative to `directory`, without what the writer keeps for itself.
std::vector<std::string> AtomicWriter::files_below(const std::string& directory) {
    std::vector<std::string> files, open{""};
    while (!open.empty()) {
        const std::string folder = std::move(open.back());
        open.pop_back();
        for (const std::string& name : files_.list(directory + "/" + folder).value_or(std::vector<std::string>())) {
            if (folder.empty() && name.starts_with("..")) continue;
            const std::string path = folder + name;
            const auto status = files_.link_status(directory + "/" + path);
            if (status && status->is_directory()) {
                open.push_back(path + "/");
            } else {
                files.push_back(path);
            }
        }
    }
    return files;
}

bool AtomicWriter::is_current(const Payload& payload) {
    const auto target = files_.read_link(directory_ + "/" + DataLink);
    if (!target && payload.empty()) return false;
    const std::string data = target ? directory_ + "/" + base_name(*target) : directory_;
    // Our directories have mode 0755; another one shows a system that keeps no modes.
    const auto folder = files_.status(data);
    const bool keeps_modes = folder && folder->mode != 0777;
    for (const auto& [path, file] : payload) {
        const std::string at = data + "/" + path;
        const auto status = files_.status(at);
        if (!status || status->size != file.contents.size() || (keeps_modes && status->mode != file.mode)) return false;
        if (files_.read(at).value_or("") != file.contents) return false;
    }
    return files_below(data).size() == payload.size();
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
