#include <fmt/format.h>

#include "base/strings.h"
#include "provision/transport.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

constexpr int SshFailed = 255;  ///< the exit code of ssh for its own failures; every other is the command's
constexpr Duration CopyLimit = 15min;

/// What both programs are told. What stands here wins over the user's configuration file.
std::vector<std::string> options_of(const SshTarget& target) {
    std::vector<std::string> words;
    for (const char* option :
         {"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes",
          "PermitLocalCommand=no", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=4", "LogLevel=ERROR"}) {
        words.insert(words.end(), {"-o", option});
    }
    if (!target.known_hosts.empty())
        words.insert(words.end(), {"-o", "UserKnownHostsFile=\"" + target.known_hosts + "\"", "-o", "GlobalKnownHostsFile=none"});
    if (!target.identity_file.empty()) words.insert(words.end(), {"-o", "IdentitiesOnly=yes", "-i", target.identity_file});
    return words;
}

std::string place_of(const SshTarget& target) { return fmt::format("{}@{} port {}", target.user, target.address, target.port); }

/// What ssh has said about a connection that did not come about, with what helps.
Error explain(const SshTarget& target, const std::string& said) {
    const auto says = [&](std::string_view text) { return said.find(text) != said.npos; };
    const std::string file = target.known_hosts.empty() ? "~/.ssh/known_hosts" : target.known_hosts;
    const std::string remedy = fmt::format(
        "; compare `ssh-keyscan -p {} {} | ssh-keygen -lf -` with what `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints on the "
        "machine itself, then put the key into {}",
        target.port, target.address, file);
    if (says("IDENTIFICATION HAS CHANGED"))
        return Error(Reason::Forbidden,
                     "the host key of " + place_of(target) + " is another than " + file + " has: someone may be in between" + remedy);
    if (says("Host key verification failed") || says("host key is known"))
        return Error(Reason::Forbidden, "the host key of " + place_of(target) + " is not in " + file + remedy);
    if (says("Permission denied"))
        return Error(Reason::Unavailable,
                     place_of(target) + " refuses the key: it must be in the user's authorized_keys, and " +
                         (target.identity_file.empty() ? "in ssh-agent or named by identityFile"
                                                       : target.identity_file + " must be readable and without a passphrase"));
    const std::string last = split_nonempty(said, '\n').empty() ? "ssh says nothing" : split_nonempty(said, '\n').back();
    return Error(Reason::Unavailable, place_of(target) + " cannot be reached: " + std::string(trim(last)));
}

Error without_program(Error error) {
    if (error.reason == Reason::NotFound)
        return Error(Reason::NotFound, "the programs ssh and scp are needed: apt-get install openssh-client");
    return error;
}

class SshTransport final : public Transport {
public:
    explicit SshTransport(ProcessRunner& processes) : processes_(processes) {}

    Task<CommandOutput> run(SshTarget target, std::string command, std::string input, Duration limit) override {
        std::vector<std::string> words = {"ssh", "-T"};
        for (std::string& word : options_of(target)) words.push_back(std::move(word));
        words.insert(words.end(), {"-p", std::to_string(target.port), "-l", target.user, "--", target.address, std::move(command)});
        auto done = co_await processes_.run({.arguments = std::move(words), .input = std::move(input), .limit = limit});
        if (!done) co_return without_program(std::move(done).error());
        if (done->exit_code == SshFailed) co_return explain(target, done->errors);
        co_return done;
    }

    Task<> copy(SshTarget target, std::string local, std::string remote) override {
        std::vector<std::string> words = {"scp", "-q"};
        for (std::string& word : options_of(target)) words.push_back(std::move(word));
        const bool is_ipv6 = target.address.find(':') != target.address.npos;
        const std::string host = is_ipv6 ? "[" + target.address + "]" : target.address;
        words.insert(words.end(), {"-P", std::to_string(target.port), "--", std::move(local), target.user + "@" + host + ":" + remote});
        auto done = co_await processes_.run({.arguments = std::move(words), .limit = CopyLimit});
        if (!done) co_return without_program(std::move(done).error());
        if (done->exit_code != 0) co_return explain(target, done->errors);
        co_return {};
    }

private:
    ProcessRunner& processes_;
};

}  // namespace

std::unique_ptr<Transport> make_ssh_transport(ProcessRunner& processes) { return std::make_unique<SshTransport>(processes); }

}  // namespace porthole::provision
