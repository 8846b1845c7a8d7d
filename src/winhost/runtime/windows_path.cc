#include "winhost/runtime/windows_path.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::winhost {
namespace {

bool is_separator(char letter) { return letter == '\\' || letter == '/'; }
bool is_letter(char letter) { return to_lower(letter) >= 'a' && to_lower(letter) <= 'z'; }

}  // namespace

bool same_name(std::string_view a, std::string_view b) { return equal_ignoring_case(a, b); }

Result<WindowsPath> WindowsPath::parse(std::string_view text) {
    const auto invalid = [&](const char* why) { return Error(Reason::BadRequest, "the path \"" + std::string(text) + "\" " + why); };
    std::string_view rest = text;
    if (rest.size() >= 2 && is_separator(rest[0]) && is_separator(rest[1])) return invalid("is not a path on a drive");
    WindowsPath path;
    if (rest.size() >= 2 && is_letter(rest[0]) && rest[1] == ':') {
        path.drive = to_lower(rest[0]);
        rest.remove_prefix(2);
    }
    if (rest.empty() ? text.empty() : !is_separator(rest[0])) return invalid("is not absolute");
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of("\\/"), rest.size());
        const std::string_view name = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (name.empty() || name == ".") continue;
        if (name == "..") return invalid("must not contain \"..\"");
        if (name.find_first_of(":*?\"<>|") != name.npos) return invalid("has a character that Windows does not allow in names");
        path.components.emplace_back(name);
    }
    return path;
}

std::string WindowsPath::text() const {
    std::string text{static_cast<char>(drive - 32), ':'};
    for (const std::string& name : components) text += "\\" + name;
    return components.empty() ? text + "\\" : text;
}

bool is_pipe_path(std::string_view text) {
    std::string plain;
    for (const char letter : text) plain.push_back(letter == '/' ? '\\' : to_lower(letter));
    return plain.starts_with("\\\\.\\pipe\\") || plain.starts_with("\\\\?\\pipe\\");
}

Result<std::string> locate(FileSystem& files, const std::string& root, const std::vector<std::string>& components) {
    TRY(const std::string real_root, files.real_path(root));
    std::string path = real_root;  // never with a link in it
    bool exists = true;
    for (const std::string& name : components) {
        std::string found = name;
        if (exists && !files.exists(join_path(path, name))) {
            exists = false;
            if (const auto names = files.list(path)) {
                const auto same =
                    std::find_if(names->begin(), names->end(), [&](const std::string& candidate) { return same_name(candidate, name); });
                if (same != names->end()) {
                    found = *same;
                    exists = true;
                }
            }
        }
        path = join_path(path, found);
        if (!exists) continue;
        TRY(path, files.real_path(path));
        if (path != real_root && !path.starts_with(real_root == "/" ? real_root : real_root + "/"))
            return Error(Reason::Forbidden, path + " leads out of the drive");
    }
    return root + path.substr(real_root.size());
}

}  // namespace porthole::winhost
