#include "kubelet/volumes/selinux/selinux.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/result.h"
#include "base/strings.h"

namespace porthole::kubelet {
namespace {

constexpr const char* Mounts = "/proc/thread-self/mountinfo";
constexpr const char* ContainerContexts = "/usr/share/containers/selinux/contexts";  // of container-selinux
constexpr std::string_view LabelCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:,";

/// A line of mountinfo; see proc(5).
struct Mount {
    std::string point, type;           ///< the point as the kernel writes it
    std::vector<std::string> options;  ///< of the mount and of its file system
};

std::vector<Mount> mounts_of(FileSystem& files) {
    std::vector<Mount> mounts;
    for (const std::string& line : split_nonempty(files.read(Mounts).value_or(""), '\n')) {
        const std::vector<std::string> fields = split_words(line);
        const auto dash = std::ranges::find(fields, "-");
        if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
        Mount& mount = mounts.emplace_back(Mount{.point = fields[4], .type = dash[1], .options = split(fields[5], ',')});
        std::ranges::copy(split(dash[3], ','), std::back_inserter(mount.options));
    }
    return mounts;
}

bool has_option(const Mount& mount, std::string_view option) { return std::ranges::find(mount.options, option) != mount.options.end(); }

/// A path as mountinfo writes it.
std::string escaped(const std::string& path) {
    std::string text;
    for (const char c : path)
        text += c == ' ' ? "\\040" : c == '\t' ? "\\011" : c == '\n' ? "\\012" : c == '\\' ? "\\134" : std::string(1, c);
    return text;
}

bool is_below(const std::string& path, const std::string& point) { return point == "/" || path == point || path.starts_with(point + "/"); }

/// Lines `name = "value"`.
std::map<std::string, std::string> settings_of(const std::string& text) {
    std::map<std::string, std::string> settings;
    for (const std::string_view line : split_views(text, '\n')) {
        const std::size_t equals = line.find('=');
        const std::string name(trim(line.substr(0, equals)));
        if (equals == line.npos || name.starts_with('#') || name.starts_with(';')) continue;
        settings[name] = trim(trim(line.substr(equals + 1)), "\"");
    }
    return settings;
}

std::string default_contexts(FileSystem& files) {
    if (const auto text = files.read(ContainerContexts)) return *text;
    const std::string policy = settings_of(files.read("/etc/selinux/config").value_or(""))["SELINUXTYPE"];
    return files.read("/etc/selinux/" + policy + "/contexts/lxc_contexts").value_or("");
}

/// user:role:type, and :level where the policy has levels, which may contain colons.
struct Label {
    std::string user, role, type, level;

    static Result<Label> parse(const std::string& text) {
        const std::vector<std::string> parts = split(text, ':');
        if (parts.size() < 3) return Error(Reason::BadRequest, "Invalid label");
        return Label{parts[0], parts[1], parts[2], join(std::vector(parts.begin() + 3, parts.end()), ":")};
    }
    std::string text() const { return user + ":" + role + ":" + type + (level.empty() ? "" : ":" + level); }
};

}  // namespace

std::unique_ptr<const Selinux> Selinux::find(FileSystem& files) {
    const auto is_policy = [](const Mount& mount) { return mount.type == "selinuxfs" && !has_option(mount, "ro"); };
    if (!std::ranges::any_of(mounts_of(files), is_policy)) return nullptr;
    // What runs before a policy is loaded has this label.
    if (files.read("/proc/thread-self/attr/current").value_or("").starts_with("kernel")) return nullptr;
    std::unique_ptr<Selinux> found(new Selinux(files));
    auto contexts = settings_of(default_contexts(files));
    found->process_label_ = contexts["process"];
    found->file_label_ = contexts["file"];
    return found;
}

Result<std::string> Selinux::file_label(const core::SELinuxOptions& options) const {
    if (options.user.empty() && options.role.empty() && options.type.empty() && options.level.empty()) return std::string();
    if (process_label_.empty() || file_label_.empty()) return std::string();
    TRY(const Label process, Label::parse(process_label_));
    TRY(Label label, Label::parse(file_label_));
    if (options.level.empty() && !process.level.empty()) return std::string();
    if (!options.user.empty()) label.user = options.user;
    if (!options.level.empty()) label.level = options.level;
    std::string text = label.text();
    if (text.find_first_not_of(LabelCharacters) != text.npos) return Error(Reason::BadRequest, "Invalid label");
    return text;
}

Result<bool> Selinux::labels_files(const std::string& path) const {
    // The volume itself is not touched: it may be of a server that is away.
    TRY(const std::string above, files_.real_path(parent_path(path)));
    const std::string wanted = escaped(join_path(above, base_name(path)));
    const Mount* nearest = nullptr;
    const std::vector<Mount> mounts = mounts_of(files_);
    for (const Mount& mount : mounts)  // a later one is on top
        if (is_below(wanted, mount.point) && (!nearest || mount.point.size() >= nearest->point.size())) nearest = &mount;
    if (!nearest) return Error(Reason::NotFound, "error checking for SELinux support: couldn't find mount point for path " + quote(path));
    return has_option(*nearest, "seclabel");
}

}  // namespace porthole::kubelet
