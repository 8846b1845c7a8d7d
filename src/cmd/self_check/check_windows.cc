#include <windows.h>

#include <algorithm>

#include "base/wide_windows.h"
#include "cmd/self_check/check.h"
#include "node_join/windows_node/host_windows.h"
#include "runtime/random.h"

namespace porthole::cmd::self_check {

#define AREA(name) Area area_##name();
#include "cmd/self_check/areas.def"
#undef AREA

namespace {

constexpr const char* PartFlag = "--part";

struct NamedArea {
    const char* name;
    Area area;
};

const std::vector<NamedArea>& areas() {
    static const std::vector<NamedArea> All = {
#define AREA(name) {#name, area_##name()},
#include "cmd/self_check/areas.def"
#undef AREA
    };
    return All;
}

/// No other account can have put something there: the name cannot be guessed, and others have no access from the beginning.
Result<std::string> make_folder(FileSystem& files) {
    const std::string parent = node_join::machine_variable(L"ProgramData");
    if (parent.empty()) return Error(Reason::NotFound, "%ProgramData% is not set");
    const std::string folder = parent + "\\porthole-self-check-" + SystemRandom().uuid();
    TRY_VOID(files.create_directories(folder, 0700));
    return folder;
}

/// A message that is the same each time, as it is compared.
std::string with_name(std::string message, const std::string& found, const std::string& name) {
    for (std::size_t at = message.find(found); at != message.npos; at = message.find(found, at + name.size()))
        message.replace(at, found.size(), name);
    return message;
}

}  // namespace

std::vector<std::string> Machine::command_of(const std::string& part) const {
    std::vector<std::string> command = part_command;
    command.insert(command.end(), {PartFlag, part, folder});
    return command;
}

Result<CommandOutput> Machine::play(const std::string& part) { return world.run(world.processes->run({.arguments = command_of(part)})); }

const Probe* find_probe(const Assumption& assumption) {
    for (const auto& [name, area] : areas()) {
        if (assumption.area != name) continue;
        const auto found = std::ranges::find(area.probes, assumption.id, [](const Probe& probe) { return std::string(probe.id); });
        if (found != area.probes.end()) return &*found;
    }
    return nullptr;
}

std::vector<std::string> probed() {
    std::vector<std::string> all;
    for (const auto& [name, area] : areas())
        for (const Probe& probe : area.probes) all.push_back(std::string(name) + "/" + probe.id);
    return all;
}

bool is_wine() { return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr; }

Finding check(RealWorld& world, const Assumption& assumption, const std::vector<std::string>& part_command) {
    if (assumption.needs == "cluster") return not_run(assumption, "it needs a cluster: " + assumption.by);
    if (assumption.needs == "administrator" && !node_join::is_elevated()) return not_run(assumption, "it needs an administrator's rights");
    const Probe* probe = find_probe(assumption);
    if (!probe) return not_run(assumption, "this program has no probe for it");
    const auto files = make_file_system();
    const auto folder = make_folder(*files);
    if (!folder) return not_run(assumption, folder.error().message);
    Machine machine{world, *files, *folder, part_command};
    auto answer = probe->look(machine);
    if (!answer) answer.error().message = with_name(std::move(answer.error().message), base_name(machine.folder), "${folder}");
    Finding finding = judge(assumption, answer, is_wine());
    const auto removed = files->remove_all(*folder);
    if (!removed) finding.differences.push_back("left behind: " + removed.error().message);
    return finding;
}

std::optional<int> play_part(std::span<const std::string> arguments) {
    if (arguments.size() < 3 || arguments[arguments.size() - 3] != PartFlag) return std::nullopt;
    const std::string &wanted = arguments[arguments.size() - 2], &folder = arguments.back();
    for (const auto& [name, area] : areas())
        for (const Part& part : area.parts)
            if (wanted == part.name) return part.play(folder);
    return 1;
}

}  // namespace porthole::cmd::self_check
