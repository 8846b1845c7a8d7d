#include "runtime/sim/memory_file_system.h"

#include <algorithm>
#include <deque>

#include "base/strings.h"

namespace porthole::sim {
namespace {

Error not_found(const std::string& path) { return Error(Reason::NotFound, "open " + path + ": No such file or directory"); }
Error full_error(const std::string& path) { return Error(Reason::Io, "write " + path + ": No space left on device"); }

std::deque<std::string> components(std::string_view path) {
    const std::vector<std::string> parts = split_nonempty(path, '/');
    std::deque<std::string> found(parts.begin(), parts.end());
    std::erase(found, ".");
    return found;
}

std::string below(const std::string& path) { return path == "/" ? path : path + "/"; }

}  // namespace

MemoryFileSystem::MemoryFileSystem(const Clock& clock) : clock_(clock) { make("/", FileType::Directory, 0755); }

MemoryFileSystem::Node& MemoryFileSystem::make(const std::string& path, FileType type, std::uint32_t mode) {
    Node& node = nodes_[path];
    node = Node();
    node.status.type = type;
    node.status.mode = mode;
    node.status.device = 1;
    node.status.inode = next_inode_++;
    node.status.modified = clock_.wall_now();
    return node;
}

Result<std::string> MemoryFileSystem::resolve(const std::string& path, bool follow_last) const {
    std::deque<std::string> parts = components(path);
    std::string place = "/";
    for (int links = 0; !parts.empty();) {
        const std::string part = std::move(parts.front());
        parts.pop_front();
        if (part == "..") {
            place = parent_path(place);
            continue;
        }
        const std::string next = below(place) + part;
        const auto found = nodes_.find(next);
        if (found == nodes_.end()) {
            if (!parts.empty()) return not_found(path);
            return next;
        }
        const Node& node = found->second;
        if (node.status.type == FileType::Symlink && (follow_last || !parts.empty())) {
            if (++links > 40) return Error(Reason::Io, "open " + path + ": Too many levels of symbolic links");
            if (node.contents.starts_with('/')) place = "/";
            std::deque<std::string> target = components(node.contents);
            parts.insert(parts.begin(), target.begin(), target.end());
            continue;
        }
        if (!parts.empty() && !node.status.is_directory()) return not_found(path);
        place = next;
    }
    return place;
}

Result<MemoryFileSystem::Node*> MemoryFileSystem::find(const std::string& path, bool follow_last) {
    TRY(const std::string place, resolve(path, follow_last));
    const auto found = nodes_.find(place);
    if (found == nodes_.end()) return not_found(path);
    return &found->second;
}

Result<std::string> MemoryFileSystem::place_of_new(const std::string& path) {
    if (full_) return full_error(path);
    TRY(const std::string place, resolve(path, false));
    if (nodes_.contains(place)) return Error(Reason::AlreadyExists, "create " + path + ": File exists");
    const auto parent = nodes_.find(parent_path(place));
    if (parent == nodes_.end() || !parent->second.status.is_directory()) return not_found(path);
    return place;
}

bool MemoryFileSystem::has_children(const std::string& path) const {
    const auto next = nodes_.upper_bound(below(path));
    return next != nodes_.end() && next->first.starts_with(below(path));
}

Result<std::string> MemoryFileSystem::read(const std::string& path, std::size_t limit) {
    TRY(std::string text, read_at(path, 0, std::string::npos));
    if (text.size() > limit) return Error(Reason::RequestEntityTooLarge, "file " + path + " is too large");
    return text;
}

Result<std::string> MemoryFileSystem::read_at(const std::string& path, std::uint64_t offset, std::size_t count) {
    TRY(const Node* node, find(path, true));
    if (!node->status.is_regular()) return Error(Reason::Io, "read " + path + ": Is a directory");
    if (offset >= node->contents.size()) return std::string();
    return node->contents.substr(offset, count);
}

Result<void> MemoryFileSystem::write(const std::string& path, std::string_view contents, std::uint32_t mode) {
    if (full_) return full_error(path);
    Result<Node*> found = find(path, true);
    if (!found) {
        TRY(const std::string place, resolve(path, true));
        const auto parent = nodes_.find(parent_path(place));
        if (parent == nodes_.end() || !parent->second.status.is_directory()) return not_found(path);
        found = &make(place, FileType::Regular, mode);
    }
    Node& node = **found;
    if (!node.status.is_regular()) return Error(Reason::Io, "write " + path + ": Is a directory");
    node.contents = contents;
    node.durable = false;
    node.status.size = contents.size();
    node.status.mode = mode;
    node.status.modified = clock_.wall_now();
    return {};
}

Result<void> MemoryFileSystem::replace(const std::string& path, std::string_view contents, std::uint32_t mode) {
    const std::string fresh = path + ".new";
    TRY_VOID(write(fresh, contents, mode));
    TRY(Node* const node, find(fresh, false));
    node->durable = true;
    return rename(fresh, path);
}

void MemoryFileSystem::cut_power() {
    for (auto& [path, node] : nodes_) {
        if (!node.status.is_regular() || node.durable) continue;
        node.contents.clear();
        node.status.size = 0;
    }
}

Result<void> MemoryFileSystem::create_directories(const std::string& path, std::uint32_t mode) {
    if (const auto there = find(path, true)) {
        if (!(*there)->status.is_directory()) return Error(Reason::NotFound, "mkdir " + path + ": Not a directory");
        return {};
    }
    if (path.size() > 1) TRY_VOID(create_directories(parent_path(path), 0755));
    TRY(const std::string place, place_of_new(path));
    make(place, FileType::Directory, mode);
    return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
    TRY(const std::string place, resolve(path, false));
    if (!nodes_.contains(place)) return not_found(path);
    if (has_children(place)) return Error(Reason::Io, "remove " + path + ": Directory not empty");
    nodes_.erase(place);
    return {};
}

Result<void> MemoryFileSystem::remove_all(const std::string& path) {
    const Result<std::string> place = resolve(path, false);
    if (!place) return {};
    std::erase_if(nodes_, [&](const auto& item) { return item.first == *place || item.first.starts_with(below(*place)); });
    return {};
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
    if (full_) return full_error(to);
    TRY(const std::string old_place, resolve(from, false));
    TRY(const std::string new_place, resolve(to, false));
    if (!nodes_.contains(old_place)) return not_found(from);
    if (!nodes_.contains(parent_path(new_place))) return not_found(to);
    if (has_children(new_place)) return Error(Reason::Io, "rename " + from + ": Directory not empty");
    nodes_.erase(new_place);
    std::vector<std::string> moved{old_place};
    for (auto at = nodes_.upper_bound(below(old_place)); at != nodes_.end() && at->first.starts_with(below(old_place)); ++at)
        moved.push_back(at->first);
    for (const std::string& place : moved) {
        auto node = nodes_.extract(place);
        node.key() = new_place + place.substr(old_place.size());
        nodes_.insert(std::move(node));
    }
    return {};
}

Result<void> MemoryFileSystem::create_symlink(const std::string& target, const std::string& path) {
    if (refuses_links_) return Error(Reason::MethodNotAllowed, "symlink " + path + ": this system does not support links");
    TRY(const std::string place, place_of_new(path));
    make(place, FileType::Symlink, 0777).contents = target;
    return {};
}

Result<std::string> MemoryFileSystem::read_link(const std::string& path) {
    TRY(const Node* node, find(path, false));
    if (node->status.type != FileType::Symlink) return Error(Reason::Io, "readlink " + path + ": Invalid argument");
    return node->contents;
}

Result<std::string> MemoryFileSystem::real_path(const std::string& path) {
    TRY_VOID(find(path, true));
    return resolve(path, true);
}

Result<FileStatus> MemoryFileSystem::status(const std::string& path) {
    TRY(const Node* node, find(path, true));
    return node->status;
}

Result<FileStatus> MemoryFileSystem::link_status(const std::string& path) {
    TRY(const Node* node, find(path, false));
    return node->status;
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::string& path) {
    TRY(const Node* node, find(path, true));
    if (!node->status.is_directory()) return Error(Reason::NotFound, "open " + path + ": Not a directory");
    TRY(const std::string place, resolve(path, true));
    std::vector<std::string> names;
    const std::string prefix = below(place);
    for (auto at = nodes_.upper_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix); ++at) {
        std::string name = at->first.substr(prefix.size());
        if (name.find('/') == std::string::npos) names.push_back(std::move(name));
    }
    return names;
}

Result<void> MemoryFileSystem::change_mode(const std::string& path, std::uint32_t mode) {
    TRY(Node * node, find(path, true));
    node->status.mode = mode;
    return {};
}

Result<void> MemoryFileSystem::change_owner(const std::string& path, std::optional<std::uint32_t> uid, std::optional<std::uint32_t> gid) {
    TRY(Node * node, find(path, false));
    node->status.uid = uid.value_or(node->status.uid);
    node->status.gid = gid.value_or(node->status.gid);
    return {};
}

Result<void> MemoryFileSystem::restrict_to_administrators(const std::string& directory, const std::vector<std::string>& readers) {
    TRY(Node* const node, find(directory, true));
    if (!node->readers) node->readers.emplace(readers.begin(), readers.end());
    return {};
}

Result<void> MemoryFileSystem::allow_reading(const std::string& directory, const std::string& account) {
    TRY(Node* const node, find(directory, true));
    if (!node->readers) return Error(Reason::Forbidden, directory + " is open to everybody");
    if (!account.starts_with("S-1-") && !account.starts_with("NT AUTHORITY\\"))
        return Error(Reason::NotFound, "this machine has no account \"" + account + "\"");
    node->readers->insert(account);
    return {};
}

std::optional<std::set<std::string>> MemoryFileSystem::readers(const std::string& directory) const {
    const auto found = nodes_.find(directory);
    return found == nodes_.end() ? std::nullopt : found->second.readers;
}

Result<FileSystemUsage> MemoryFileSystem::usage(const std::string& path) {
    TRY_VOID(find(path, true));
    return FileSystemUsage{.capacity = 100ull << 30, .available = 80ull << 30, .inodes = 1 << 20, .inodes_free = 1 << 19};
}

}  // namespace porthole::sim
