#include "provision/etcd_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "provision/remote_script.h"

namespace porthole::provision {
namespace {

// As in server_host.cc: constants, of which $1 and so on vary, run by root's sh. The directory is root's, so that the member's user can
// put nothing into a path that root writes to; only `data` is that user's.
#define ETCD_HOME PORTHOLE_ETCD_FILES
#define ETCD_UNIT PORTHOLE_ETCD_UNIT

/// $1: the program.
#define ASK_ETCD                                                                                                                     \
    "export LC_ALL=C\n"                                                                                                              \
    "echo version=$(\"$1\" --version 2>/dev/null | sed -n 's/^etcd Version: //p' | head -c 50)\n"                                    \
    "if cd " ETCD_HOME                                                                                                               \
    " 2>/dev/null; then\n"                                                                                                           \
    "  printf 'files='; for file in ca.key issued " ETCD_UNIT                                                                        \
    "; do if [ -e $file ]; then printf '%s %s ' $file $(sha256sum <$file | cut -c1-64); fi; done; echo\n"                            \
    "  if [ -e ca.crt ]; then echo authority=$(sha256sum <ca.crt | cut -c1-64); fi\n"                                                \
    "  for key in member client; do if [ -s $key.key ]; then echo $key=$(ssh-keygen -e -m PKCS8 -f $key.key | grep -v -e - | tr -d " \
    "'\\n'); fi; done\n"                                                                                                             \
    "  if [ -s member.crt ] && [ -s client.crt ]; then echo certificates=yes; fi\n"                                                  \
    "  if [ -e bootstrap ]; then printf 'bootstrap=%s\\n' \"$(head -c 900 bootstrap | tr '\\n' ' ')\"; fi\n"                         \
    "  for log in data/member/wal/*.wal; do if [ -e \"$log\" ]; then echo log=yes; break; fi; done\n"                                \
    "fi\n"                                                                                                                           \
    "if systemctl is-active --quiet " ETCD_UNIT                                                                                      \
    "; then echo service=active; fi\n"                                                                                               \
    "if [ -e " PORTHOLE_SERVER_FILES "/server-token ]; then echo token=$(sha256sum <" PORTHOLE_SERVER_FILES                          \
    "/server-token | cut -c1-64); fi\n"                                                                                              \
    "if [ -e " PORTHOLE_SERVER_DATA "/store-location ]; then echo objects=etcd; elif [ -e " PORTHOLE_SERVER_DATA                     \
    "/store/store.db ]; then echo objects=own; fi\n"                                                                                 \
    "exit 0"

#define STOP_MEMBER "if [ -e /etc/systemd/system/" ETCD_UNIT " ]; then systemctl stop " ETCD_UNIT "; fi\n"

/// ssh-keygen is where sshd is. It reads no key that others than the owner can read, so that of the member is the member's user's.
constexpr const char* MakeKeys =
    "set -e\nPATH=$PATH:/usr/sbin:/sbin\numask 077\n" STOP_MEMBER "getent passwd " PORTHOLE_ETCD_USER
    " >/dev/null || useradd --system --user-group --no-create-home --home-dir " ETCD_HOME " --shell /usr/sbin/nologin " PORTHOLE_ETCD_USER
    "\n"
    "install -d -m 0750 -g " PORTHOLE_ETCD_USER " " ETCD_HOME "\ninstall -d -m 0700 -o " PORTHOLE_ETCD_USER " -g " PORTHOLE_ETCD_USER
    " " ETCD_HOME
    "/data\n"
    "cd " ETCD_HOME
    "\n"
    "for key in member client; do if ! [ -s $key.key ]; then\n"
    "  rm -f new.key new.key.pub; ssh-keygen -q -t ecdsa -b 256 -m PEM -N '' -C '' -f new.key; rm new.key.pub; sync new.key\n"
    "  if [ $key = member ]; then chown " PORTHOLE_ETCD_USER
    " new.key; fi\n"
    "  mv new.key $key.key\n"
    "fi; done\n" ASK_ETCD;

/// $1: the file's name. Its text comes by standard input, because it may be a secret.
constexpr const char* WriteEtcdFile = "set -e\numask 077\ncd " ETCD_HOME
                                      "\ncat >\"$1.new\"\n"
                                      "case $1 in ca.crt|member.crt) chgrp " PORTHOLE_ETCD_USER
                                      " \"$1.new\"; chmod 0640 \"$1.new\";; esac\n"
                                      "sync \"$1.new\"\nmv \"$1.new\" \"$1\"";

constexpr const char* StartMember = "set -e\ninstall -m 0644 " ETCD_HOME "/" ETCD_UNIT " /etc/systemd/system/" ETCD_UNIT
                                    "\nsystemctl daemon-reload\nsystemctl enable --quiet " ETCD_UNIT "\nsystemctl reset-failed " ETCD_UNIT
                                    " || true\nsystemctl start " ETCD_UNIT;

constexpr const char* ClearMember = "set -e\n" STOP_MEMBER "rm -rf " ETCD_HOME "/data\ninstall -d -m 0700 -o " PORTHOLE_ETCD_USER
                                    " -g " PORTHOLE_ETCD_USER " " ETCD_HOME "/data";

constexpr const char* WaitForLog =
    "for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
    "  for log in " ETCD_HOME
    "/data/member/wal/*.wal; do if [ -e \"$log\" ]; then exit 0; fi; done; sleep 1\n"
    "done\necho 'it has no data yet' >&2; exit 1";

constexpr const char* MemberSaid = "printf 'said=%s\\n' \"$(journalctl _SYSTEMD_UNIT=" ETCD_UNIT
                                   " --lines 1 --output cat --no-pager 2>/dev/null | head -c 900 | tr '\\n' ' ')\"";

/// Members that are learners first came with 3.4; another MAJOR may have other data.
bool is_known_version(const std::string& version) {
    int minor = 0;
    if (!version.starts_with("3.")) return false;
    const auto read = std::from_chars(version.data() + 2, version.data() + version.size(), minor);
    return read.ec == std::errc() && minor >= 4;
}

Result<EtcdFacts> read_facts(const std::string& text, const std::string& program) {
    const auto answers = parse_answers(text);
    const auto answer = [&](const char* key) { return answers.contains(key) ? answers.at(key) : std::string(); };
    const std::string version = answer("version");
    if (version.empty())
        return Error(Reason::BadRequest, fmt::format("the machine has no program {}: apt-get install etcd-server there, or name another by "
                                                     "spec.controlPlane.etcd.program. The service that the package starts is not used",
                                                     program));
    if (!is_known_version(version))
        return Error(Reason::BadRequest, fmt::format("{} is version {}, and 3.4 or a newer 3 is needed", program, version));
    if (answer("objects") == "own")
        return Error(Reason::Conflict,
                     "the server keeps its objects in a store of its own: leave spec.controlPlane.etcd out. `porthole store migrate` moves "
                     "them to an etcd that runs already, which spec.controlPlane.etcdServers names");
    std::string bootstrap = answer("bootstrap");  // its lines, as one
    std::ranges::replace(bootstrap, ' ', '\n');
    return EtcdFacts{.files = answer("files"),
                     .authority_sha256 = answer("authority"),
                     .token_sha256 = answer("token"),
                     .member_public = answer("member"),
                     .client_public = answer("client"),
                     .bootstrap = bootstrap.empty() ? "" : bootstrap + "\n",
                     .has_certificates = answer("certificates") == "yes",
                     .has_log = answer("log") == "yes",
                     .is_running = answer("service") == "active",
                     .serves_objects = answer("objects") == "etcd"};
}

}  // namespace

Task<EtcdFacts> EtcdHost::ask(std::string program) {
    CO_TRY(const std::string text, co_await host_.script("asking about etcd", ASK_ETCD, {program}, LinuxHost::Short));
    co_return read_facts(text, program);
}

Task<std::string> EtcdHost::read(const char* file) {
    return host_.as_root(std::string("reading ") + file, {"cat", "--", file}, "", LinuxHost::Short);
}

Task<EtcdFacts> EtcdHost::make_keys(std::string program) {
    CO_TRY(const std::string text, co_await host_.script("making the keys of etcd", MakeKeys, {program}, LinuxHost::Long));
    co_return read_facts(text, program);
}

Task<> EtcdHost::write(std::string name, std::string text) {
    return host_.quiet("writing etcd's file " + name, WriteEtcdFile, {name}, LinuxHost::Short, std::move(text));
}

Task<> EtcdHost::start() { return host_.quiet("starting porthole-etcd", StartMember, {}, LinuxHost::Long); }
Task<> EtcdHost::clear() { return host_.quiet("deleting the data of etcd", ClearMember, {}, LinuxHost::Long); }
Task<> EtcdHost::wait_for_log() { return host_.quiet("starting porthole-etcd", WaitForLog, {}, LinuxHost::Short); }

Task<std::string> EtcdHost::last_words() {
    CO_TRY(const std::string text, co_await host_.script("asking about porthole-etcd", MemberSaid, {}, LinuxHost::Short));
    const auto answers = parse_answers(text);
    co_return answers.contains("said") ? answers.at("said") : std::string();
}

}  // namespace porthole::provision
