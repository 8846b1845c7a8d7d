#include "winhost/bundle/runc.h"

#include <algorithm>

#include "schema/json/json.h"
#include "winhost/bundle/container_folder.h"

namespace porthole::winhost {
namespace {

/// runc logs lines as `level=error msg="..."`; the last one says why.
std::string last_words(const CommandOutput& output) {
    std::string text = output.errors;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text = text.substr(text.rfind('\n') + 1);
    const std::size_t message = text.find("msg=\"");
    if (message != text.npos) text = text.substr(message + 5, text.rfind('"') - message - 5);
    return text.empty() ? "runc failed with exit code " + std::to_string(output.exit_code) : "runc: " + text;
}

Result<void> check(const CommandOutput& output) {
    if (output.exit_code != 0) return Error(Reason::Io, last_words(output));
    return {};
}

bool is_missing(const CommandOutput& output) { return output.errors.find("does not exist") != output.errors.npos; }

/// With the threads of several processors, runc takes longer for what it does: one thing after the other, in three processes.
void keep_to_one_thread(Command& command) { command.environment["GOMAXPROCS"] = "1"; }

}  // namespace

Task<CommandOutput> Runc::run(std::vector<std::string> arguments, std::string input) {
    Command command;
    command.arguments = {"runc", "--root", state_folder_};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.input = std::move(input);
    keep_to_one_thread(command);
    command.limit = std::chrono::seconds(60);
    return processes_.run(std::move(command));
}

Task<int> Runc::start(std::string id, std::string folder, OciBundle bundle) {
    CO_TRY_VOID(files_.write(join_path(folder, "config.json"), make_oci_config(bundle), 0600));
    const bool has_late_mounts = !bundle.late_mounts.empty();
    const std::string rootfs = bundle.user_namespace ? ReachableRoot : bundle.rootfs;
    std::string script;
    // A directory that the container's programs have replaced by a link is not followed.
    if (has_late_mounts)
        script += "[ \"$(realpath \"$3/$5\")\" = \"$(realpath \"$3\")/$5\" ] || { echo \"$3/$5 is a link\" >&2; exit 1; }; ";
    if (bundle.user_namespace) {
        // Only this runc sees the root file system there, so that many can be made at once; the folder's place is root's.
        CO_TRY_VOID(files_.create_directories(ReachableRoot, 0755));
        script += "mount --rbind \"$3\" \"$4\" && ";
    }
    // runc of Debian 13 (1.1.15) makes the mount of the root file system private. Mounts below it stay as they are.
    if (has_late_mounts) script += "mount --rbind \"$3/$5\" \"$4/$5\" && ";
    // runc keeps its standard streams for the container's process, and a pipe would keep us waiting: they go to files.
    // One run of runc, as each takes some ten milliseconds before it does anything.
    script +=
        "exec runc --root \"$0\" --log \"$2/runc.log\" run --detach --pid-file \"$2/pid\" --bundle \"$2\" \"$1\" </dev/null "
        ">\"$2/init.log\" 2>&1";
    Command command;
    if (bundle.user_namespace || has_late_mounts) command.arguments = {"unshare", "--mount", "--propagation", "slave", "--"};
    const std::initializer_list<std::string> shell = {"sh",   "-c",          script, state_folder_,     id,
                                                      folder, bundle.rootfs, rootfs, bundle.late_mounts};
    command.arguments.insert(command.arguments.end(), shell);
    keep_to_one_thread(command);
    command.limit = std::chrono::seconds(60);
    CO_TRY(CommandOutput output, co_await processes_.run(std::move(command)));
    if (output.exit_code != 0) {
        if (auto log = files_.read(join_path(folder, "runc.log"))) output.errors = *log;
        CO_TRY_VOID(check(output));
    }
    CO_TRY(const std::string pid, files_.read(Folder{folder}.pid()));
    co_return std::atoi(pid.c_str());
}

Task<> Runc::kill(std::string id, std::string signal) {
    CO_TRY(const CommandOutput output, co_await run({"kill", id, signal}));
    if (is_missing(output) || output.errors.find("not running") != output.errors.npos ||
        output.errors.find("already finished") != output.errors.npos)
        co_return {};
    co_return check(output);
}

Task<> Runc::remove(std::string id) {
    CO_TRY(const CommandOutput output, co_await run({"delete", "--force", id}));
    if (is_missing(output)) co_return {};
    co_return check(output);
}

Task<> Runc::update(std::string id, OciLimits limits) {
    schema::Value resources = schema::Value::object();
    if (limits.memory_bytes > 0) resources["memory"] = schema::Value::object({{"limit", limits.memory_bytes}});
    if (limits.cpu_quota_us > 0)
        resources["cpu"] = schema::Value::object({{"quota", limits.cpu_quota_us}, {"period", OciLimits::CpuPeriodUs}});
    CO_TRY(const CommandOutput output, co_await run({"update", "--resources", "-", id}, schema::to_json(resources)));
    co_return check(output);
}

Task<Runc::State> Runc::state(std::string id) {
    CO_TRY(const CommandOutput output, co_await run({"state", id}));
    State state;
    if (is_missing(output)) co_return state;
    CO_TRY_VOID(check(output));
    CO_TRY(const schema::Value value, schema::parse_json(output.output));
    const std::string_view status = value.string_at({"status"});
    state.exists = true;
    state.running = status == "running" || status == "created";
    state.pid = static_cast<int>(schema::at(value, "pid").int_or(0));
    co_return state;
}

Result<std::vector<std::string>> Runc::list() {
    if (!files_.exists(state_folder_)) return std::vector<std::string>();
    return files_.list(state_folder_);
}

}  // namespace porthole::winhost
