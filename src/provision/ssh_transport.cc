#include <fmt/format.h>

#include "base/strings.h"
#include "provision/remote_script.h"
#include "provision/transport.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

constexpr int SshFailed = 255;  ///< the exit code of ssh for its own failures; every other is the command's
constexpr Duration CopyLimit = 15min;

/// What wins over the user's configuration file, which may have been written for work at a terminal.
constexpr const char* Options[] = {
    "IgnoreUnknown=KnownHostsCommand,StdinNull,ForkAfterAuthentication",  // which versions before 8.7 do not have
    "BatchMode=yes",
    // A host key counts when it is in the known hosts file, and for no other reason.
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "VerifyHostKeyDNS=no",
    "NoHostAuthenticationForLocalhost=no",
    "KnownHostsCommand=none",
    // Nothing of the user goes to the machine, and nothing of the machine comes here.
    "ForwardAgent=no",
    "ForwardX11=no",
    "GSSAPIDelegateCredentials=no",
    "ClearAllForwardings=yes",
    "Tunnel=no",
    "PermitLocalCommand=no",
    // A connection that an earlier command has left open may have been made with less care than is taken here.
    "ControlMaster=no",
    "ControlPath=none",
    // The command, its input and its end are ours.
    "RemoteCommand=none",
    "StdinNull=no",
    "ForkAfterAuthentication=no",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "LogLevel=ERROR",
};

/// What both programs are told.
std::vector<std::string> options_of(const SshTarget& target) {
    std::vector<std::string> words;
    for (const char* option : Options) words.insert(words.end(), {"-o", option});
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
        return Error(Reason::Forbidden, "the host key of " + place_of(target) + " differs from the one in " + file +
                                            ": someone may be intercepting the connection" + remedy);
    if (says("Host key verification failed") || says("host key is known"))
        return Error(Reason::Forbidden, "the host key of " + place_of(target) + " is not in " + file + remedy);
    if (says("Permission denied"))
        return Error(Reason::Unavailable,
                     place_of(target) + " refuses the key: it must be in the user's authorized_keys, and " +
                         (target.identity_file.empty() ? "in ssh-agent or named by identityFile"
                                                       : target.identity_file + " must be readable and without a passphrase"));
    const std::vector<std::string> lines = split_nonempty(said, '\n');
    return Error(Reason::Unavailable,
                 place_of(target) + " cannot be reached: " + (lines.empty() ? "ssh printed no reason" : printable(trim(lines.back()))));
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
        // scp ends with 255 or, where it speaks the older protocol, with 1 and these words.
        const bool is_lost = done->exit_code == SshFailed || done->errors.find("lost connection") != std::string::npos;
        if (is_lost) co_return explain(target, done->errors);
        co_return check_output(*done, "copying to " + place_of(target));
    }

private:
    ProcessRunner& processes_;
};

}  // namespace

std::unique_ptr<Transport> make_ssh_transport(ProcessRunner& processes) { return std::make_unique<SshTransport>(processes); }

}  // namespace porthole::provision
