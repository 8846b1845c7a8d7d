#include <algorithm>
#include <utility>

#include "provision/linux_host.h"
#include "provision/machine.h"
#include "provision/remote_script.h"

namespace porthole::provision {
namespace {

constexpr Duration Short = LinuxHost::Short, Long = LinuxHost::Long;

// The scripts are constants: what varies is $1, $2 and so on. Each is run by root's sh, and ends at the first command that fails.
#define PROGRAM PORTHOLE_PROGRAM
#define AGENT_DATA "/var/lib/porthole-agent"

constexpr const char* Ask =
    "echo system=$(uname -s); echo architecture=$(uname -m)\n"
    "if [ -S \"$1\" ]; then echo runtime=yes; fi\n"
    "if [ -d /run/systemd/system ]; then echo services=systemd; fi\n"
    "if [ -e " PROGRAM " ]; then echo program=$(sha256sum <" PROGRAM
    " | cut -c1-64); fi\n"
    "if [ -e " PROGRAM
    ".previous ]; then echo previous=yes; fi\n"
    "if [ -e " AGENT_DATA "/servers ]; then echo server=$(sed -n 's/^[a-z]* \\([^ ]*\\).*/\\1/p' " AGENT_DATA
    "/servers | head -n 20 | paste -s -d ,)\n"
    "elif [ -e " AGENT_DATA "/kubeconfig ]; then echo server=$(sed -n 's/^ *server: *//p' " AGENT_DATA
    "/kubeconfig); fi\n"
    "if systemctl is-active --quiet porthole-agent; then echo agent=active; fi\n"
    "exit 0";

/// $1: "keep", or "". The old program gets its second name at once and whole, also on a disk that is full: a copy that breaks off would be
/// what roll_back() puts back.
constexpr const char* Place =
    "set -e\n"
    "if [ \"$1\" = keep ]; then rm -f " PROGRAM ".previous; ln " PROGRAM " " PROGRAM
    ".previous; fi\n"
    "mv -f " PROGRAM ".new " PROGRAM;

/// An agent that does not stop must not keep the old program from its place, nor a new one that has ended too often the old one from its
/// start.
constexpr const char* RollBack =
    "set -e\n"
    "if [ -e " PROGRAM ".previous ]; then mv -f " PROGRAM ".previous " PROGRAM
    "; fi\n"
    "systemctl reset-failed porthole-agent || true\n"
    "systemctl restart porthole-agent";

/// $@: flags of `reset`.
constexpr const char* Remove =
    "set -e\n"
    "if [ -e " AGENT_DATA " ]; then " PROGRAM
    " reset \"$@\"; fi\n"
    "rm -f " PROGRAM " " PROGRAM ".previous " PROGRAM ".new";

/// Flags that `reset` has to be told as `join` was.
constexpr std::string_view ResetFlags[] = {"--container-runtime-endpoint", "--cni-conf-dir", "--cgroup-root"};

class LinuxMachine final : public Machine {
public:
    LinuxMachine(Transport& transport, MachineDescription description)
        : host_(transport, description.ssh), description_(std::move(description)) {}

    Task<MachineFacts> ask() override {
        CO_TRY(const std::string output, co_await host_.script("asking the machine", Ask, {runtime_socket()}, Short));
        const auto answers = parse_answers(output);
        const auto answer = [&](const char* key) { return answers.contains(key) ? answers.at(key) : std::string(); };
        CO_TRY_VOID(check(answer("system"), answer("architecture"), answer("runtime"), answer("services")));
        co_return MachineFacts{.program_sha256 = answer("program"),
                               .server = answer("server"),
                               .is_agent_running = answer("agent") == "active",
                               .has_previous = answer("previous") == "yes"};
    }

    Task<> upload(Payload payload) override { return host_.upload(std::move(payload)); }
    Task<> place(bool keep) override { return host_.quiet("putting the program into its place", Place, {keep ? "keep" : ""}, Short); }

    Task<> join(JoinOrder order) override {
        std::vector<std::string> words = {PROGRAM,          "join",        order.server,  "--token-file",   "-",
                                          "--ca-cert-hash", order.ca_hash, "--node-name", description_.name};
        for (const std::string& taint : description_.taints) words.insert(words.end(), {"--register-with-taints", taint});
        words.insert(words.end(), description_.join_flags.begin(), description_.join_flags.end());
        CO_TRY_VOID(co_await host_.as_root("porthole join", std::move(words), order.token + "\n", Long));
        co_return {};
    }

    Task<> stop() override { return systemctl("stop"); }
    Task<> start() override { return systemctl("start"); }
    Task<> roll_back() override { return host_.quiet("putting the old program back", RollBack, {}, Long); }
    Task<> forget_previous() override {
        CO_TRY_VOID(co_await host_.as_root("deleting the old program", {"rm", "-f", PROGRAM ".previous"}, "", Short));
        co_return {};
    }

    Task<> remove() override {
        std::vector<std::string> flags;
        for (const std::string& flag : description_.join_flags)
            if (std::ranges::find(ResetFlags, std::string_view(flag).substr(0, flag.find('='))) != std::end(ResetFlags))
                flags.push_back(flag);
        return host_.quiet("porthole reset", Remove, std::move(flags), Long);
    }

private:
    std::string runtime_socket() const {
        constexpr std::string_view Flag = "--container-runtime-endpoint=";
        for (const std::string& flag : description_.join_flags)
            if (flag.starts_with(Flag)) return flag.substr(Flag.size());
        return "/run/containerd/containerd.sock";
    }

    Result<void> check(std::string_view system, std::string_view architecture, std::string_view runtime, std::string_view services) const {
        if (system != "Linux") return Error(Reason::BadRequest, "the machine does not run Linux: its pool needs another `os`");
        if (architecture != "x86_64")
            return Error(Reason::BadRequest, "this program is for x86_64, but the machine's processor is " + std::string(architecture));
        if (services != "systemd") return Error(Reason::BadRequest, "the machine has no systemd, which runs the node's agent");
        if (runtime != "yes")
            return Error(Reason::BadRequest,
                         "containerd is not available at " + runtime_socket() +
                             "; install and start it: apt-get install containerd containernetworking-plugins nftables iptables");
        return {};
    }

    Task<> systemctl(std::string verb) {
        CO_TRY_VOID(co_await host_.as_root("systemctl " + verb + " porthole-agent", {"systemctl", verb, "porthole-agent"}, "", Long));
        co_return {};
    }

    LinuxHost host_;
    const MachineDescription description_;
};

}  // namespace

std::unique_ptr<Machine> make_linux_machine(Transport& transport, MachineDescription description) {
    return std::make_unique<LinuxMachine>(transport, std::move(description));
}

}  // namespace porthole::provision
