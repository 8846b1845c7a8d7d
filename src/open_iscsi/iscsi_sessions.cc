#include "open_iscsi/iscsi_sessions.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/strings.h"

namespace porthole::open_iscsi {
namespace {

/// The number in "session7" after "session"; nullopt for other names.
template <class Number>
std::optional<Number> number_after(std::string_view prefix, std::string_view name) {
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    Number number{};
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    return problem == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

class Sysfs {
public:
    Sysfs(FileSystem& files, std::string root) : files_(files), root_(std::move(root)) {}

    std::vector<std::string> names_in(const std::string& folder) { return files_.list(folder).value_or(std::vector<std::string>()); }
    std::string text(const std::string& path) { return std::string(trim(files_.read(path).value_or(""))); }
    std::string sessions() const { return root_ + "/class/iscsi_session"; }

    Session session(std::uint32_t id) {
        const std::string number = std::to_string(id), folder = sessions() + "/session" + number;
        const std::string connection = root_ + "/class/iscsi_connection/connection" + number + ":0";
        return {.id = id,
                .target = text(folder + "/targetname"),
                .address = text(connection + "/persistent_address"),
                .port = text(connection + "/persistent_port"),
                .state = text(folder + "/state"),
                .units = units(folder + "/device")};
    }

private:
    /// "<session>/target2:0:0/2:0:0:1/block/sdb"
    std::vector<LogicalUnit> units(const std::string& session) {
        std::vector<LogicalUnit> found;
        for (const std::string& target : names_in(session)) {
            if (!target.starts_with("target")) continue;
            for (const std::string& unit : names_in(session + "/" + target)) {
                const auto number = number_after<std::uint64_t>("", std::string_view(unit).substr(unit.rfind(':') + 1));
                const std::string block = session + "/" + target + "/" + unit + "/block";
                if (!number || std::ranges::count(unit, ':') != 3) continue;
                for (const std::string& device : names_in(block)) found.push_back({*number, device, block + "/" + device});
            }
        }
        std::ranges::sort(found, {}, &LogicalUnit::number);
        return found;
    }

    FileSystem& files_;
    std::string root_;
};

}  // namespace

std::vector<Session> sessions_of(const std::string& interface, FileSystem& files, const std::string& sys) {
    Sysfs sysfs(files, sys);
    std::vector<Session> found;
    for (const std::string& name : sysfs.names_in(sysfs.sessions())) {
        const auto id = number_after<std::uint32_t>("session", name);
        if (id && sysfs.text(sysfs.sessions() + "/" + name + "/ifacename") == interface) found.push_back(sysfs.session(*id));
    }
    std::ranges::sort(found, {}, &Session::id);
    return found;
}

}  // namespace porthole::open_iscsi
