#include "provision/etcd_provisioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/result.h"
#include "base/strings.h"
#include "net/tls/x509.h"
#include "provision/etcd_certificates.h"
#include "provision/etcd_files.h"
#include "provision/reported_step.h"
#include "runtime/scope.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using Kind = EtcdStep::Kind;

/// etcd changes no members for five seconds after they have found each other, and an election takes two.
constexpr Duration StepLimit = 2min, LookAgain = 1s;
constexpr int MostSteps = 200;

/// What etcd may refuse now and do in a moment; what has been done although the answer was lost is seen at the next look.
bool is_patient(Kind kind) { return kind == Kind::Remove || kind == Kind::Admit || kind == Kind::Promote; }

}  // namespace

EtcdProvisioner::EtcdProvisioner(Seams seams, const ControlPlaneDescription& plane, std::string new_token)
    : seams_(std::move(seams)), plane_(plane), token_(std::move(new_token)) {
    for (const MachineDescription& wanted : plane.hosts)
        members_.push_back(std::make_unique<Member>(Member{.wanted = wanted, .host = EtcdHost(seams_.transport, wanted.ssh), .facts = {}}));
}
EtcdProvisioner::~EtcdProvisioner() = default;

EtcdProvisioner::Member& EtcdProvisioner::member_at(const std::string& address) {
    return **std::ranges::find_if(members_, [&](const auto& member) { return member->wanted.ssh.address == address; });
}

Task<> EtcdProvisioner::ask(std::size_t host) {
    CO_TRY(members_[host]->facts, co_await members_[host]->host.ask(plane_.own_etcd->program));
    co_return {};
}

Task<> EtcdProvisioner::meet() {
    CO_TRY_VOID(co_await learn_authority());
    if (plane_.etcd.token_file.empty()) CO_TRY_VOID(co_await learn_token());
    co_return {};
}

Task<> EtcdProvisioner::learn_authority() {
    std::set<std::string> known;
    for (const auto& member : members_)
        if (!member->facts.authority_sha256.empty()) known.insert(member->facts.authority_sha256);
    if (known.size() > 1)
        co_return Error(Reason::Conflict,
                        "the hosts have members of different etcds: on those that are to join, remove " PORTHOLE_ETCD_FILES
                        " after `systemctl disable --now porthole-etcd`");
    Result<void> read;
    for (const auto& member : members_) {
        if (authority_ || member->facts.authority_sha256.empty()) continue;
        const auto certificate = co_await member->host.read(PORTHOLE_ETCD_FILES "/ca.crt");
        const auto key = certificate ? co_await member->host.read(PORTHOLE_ETCD_FILES "/ca.key") : certificate;
        if (!key) {
            read = key.error();
            if (is_cancelled(read)) co_return read;
            continue;  // another host has it, too
        }
        CO_TRY(authority_, net::CertificateAuthority::load(*certificate, *key));
    }
    if (authority_) co_return {};
    CO_TRY_VOID(read);
    authority_ = new_etcd_authority(seams_.loop.wall_now());
    co_return {};
}

Task<> EtcdProvisioner::learn_token() {
    std::string hash;
    for (const auto& member : members_) {
        const std::string& other = member->facts.token_sha256;
        if (other.empty() || other == hash) continue;
        if (!hash.empty())
            co_return Error(Reason::Conflict, "the hosts have different server tokens: write the same one to " PORTHOLE_SERVER_FILES
                                              "/server-token on each, while the servers run");
        CO_TRY(token_, co_await member->host.read(PORTHOLE_SERVER_FILES "/server-token"));
        hash = other;
    }
    co_return {};
}

Task<> EtcdProvisioner::ask_all() {
    std::vector<Task<>> tasks;
    for (std::size_t host = 0; host < members_.size(); ++host) tasks.push_back(ask(host));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    for (std::size_t host = 0; host < results.size(); ++host)
        if (!results[host])
            co_return is_cancelled(results[host]) ? results[host].error()
                                                  : Error(results[host].error()).with_context(members_[host]->wanted.name);
    co_return {};
}

Task<EtcdSeen> EtcdProvisioner::look() {
    EtcdSeen seen;
    std::vector<std::string> running;
    for (const auto& member : members_) {
        const EtcdFacts& facts = member->facts;
        const EtcdFiles files = etcd_files(plane_, member->wanted, *authority_, facts);
        seen.hosts.push_back({.name = member->wanted.name,
                              .address = member->wanted.ssh.address,
                              .is_prepared = has_etcd_files(facts, files, *authority_),
                              .has_log = facts.has_log,
                              .is_running = facts.is_running,
                              .serves_objects = facts.serves_objects,
                              .bootstrap = facts.bootstrap});
        if (facts.is_running) running.push_back(member->wanted.ssh.address);
    }
    roster_.reset();
    if (running.empty()) co_return std::move(seen);
    CO_TRY(roster_, seams_.connect(*authority_, std::move(running)));
    auto members = co_await roster_->members();
    if (!members && (is_cancelled(members) || members.error().reason == Reason::Conflict)) co_return members.error();
    if (members) seen.members = *std::move(members);
    co_return std::move(seen);
}

Task<> EtcdProvisioner::plan(std::function<void(const std::string& line)> print) {
    CO_TRY(const EtcdSeen now, co_await look());
    std::set<std::string> changed;
    for (const NextStep next : {next_step, next_removal}) {
        EtcdSeen seen = now;
        for (int steps = 0; steps < MostSteps; ++steps) {
            CO_TRY(const auto step, next(seen));
            if (!step || step->kind == Kind::Wait) break;
            changed.insert(step->address);
            if (step->kind != Kind::Seal) print(planned_text(*step));
            seen = after(std::move(seen), *step);
        }
    }
    for (const EtcdHostSeen& host : now.hosts) {
        if (changed.contains(host.address)) continue;
        const auto member = std::ranges::find(now.members, host.address, &EtcdMemberSeen::address);
        const bool is_healthy = member != now.members.end() && member->is_healthy;
        print(fmt::format("leave as it is: etcd member {}, {}", host.name,
                          !is_healthy     ? "not healthy"
                          : member->leads ? "healthy, leads"
                                          : "healthy"));
    }
    co_return {};
}

Task<> EtcdProvisioner::apply() {
    CO_TRY(const bool is_changed, co_await converge(next_step));
    if (is_changed) co_return {};
    const std::string name = "etcd as described";
    seams_.report.begin(name);
    seams_.report.done(name);
    co_return {};
}

Task<> EtcdProvisioner::remove_surplus() {
    CO_TRY_VOID(co_await converge(next_removal));
    co_return {};
}

/// Whether there was a step. One that was begun stays so in the report while it is tried again.
Task<bool> EtcdProvisioner::converge(NextStep next) {
    std::string open;
    bool is_changed = false;
    MonotonicTime limit = seams_.loop.now() + StepLimit;
    const auto end = [&] {
        if (!open.empty()) seams_.report.done(open);
        open.clear();
    };
    for (int steps = 0; steps < MostSteps;) {
        CO_TRY_VOID(co_await ask_all());
        CO_TRY(EtcdSeen seen, co_await look());
        CO_TRY(auto step, next(seen));
        if (!step) {
            end();
            co_return is_changed;
        }
        const std::string name = step->kind == Kind::Wait ? "etcd healthy" : done_text(*step);
        if (name != open) {
            end();
            seams_.report.begin(name);
            open = name;
        }
        std::string why = step->why;
        if (step->kind != Kind::Wait) {
            is_changed = true;
            const auto done = co_await carry_out(*step, std::move(seen));
            if (is_cancelled(done)) co_return done.error();
            if (done) {
                end();
                ++steps;
                limit = seams_.loop.now() + StepLimit;
                continue;
            }
            why = done.error().message;
        }
        if (seams_.loop.now() >= limit || (step->kind != Kind::Wait && !is_patient(step->kind))) {
            CO_TRY(why, co_await explained(*step, std::move(why)));
            seams_.report.failed(open, why);
            co_return failed_step(open);
        }
        CO_TRY_VOID(co_await seams_.loop.sleep(LookAgain));
    }
    co_return Error(Reason::InternalError, "etcd does not come to the described state");
}

Task<std::string> EtcdProvisioner::explained(EtcdStep step, std::string why) {
    const auto member = std::ranges::find_if(members_, [&](const auto& one) { return one->wanted.ssh.address == step.address; });
    if (member == members_.end()) co_return why;
    const auto said = co_await (*member)->host.last_words();
    if (is_cancelled(said)) co_return said.error();
    co_return said && !said->empty() ? fmt::format("{}; the log of porthole-etcd on {} ends with: {}", why, (*member)->wanted.name, *said)
                                     : why;
}

Task<> EtcdProvisioner::carry_out(EtcdStep step, EtcdSeen seen) {
    if (step.kind == Kind::Remove) co_return co_await roster_->remove(step.member);
    if (step.kind == Kind::Promote) co_return co_await roster_->promote(step.member);
    Member& member = member_at(step.address);
    if (step.kind == Kind::Prepare) co_return co_await prepare(member);
    if (step.kind == Kind::Start) co_return co_await member.host.start();
    if (step.kind == Kind::Seal) co_return co_await member.host.write("bootstrap", SealedBootstrap);
    CO_TRY_VOID(co_await member.host.clear());
    if (step.kind == Kind::Begin) co_return co_await begin(member, first_bootstrap(seen.hosts));
    CO_TRY_VOID(co_await roster_->add_learner(step.address));
    std::vector<std::string> addresses{step.address};
    for (const EtcdMemberSeen& known : seen.members) addresses.push_back(known.address);
    co_return co_await begin(member, joining_bootstrap(addresses));
}

/// The first that a member does is to make its log, by which it is known from now on.
Task<> EtcdProvisioner::begin(Member& member, std::string bootstrap) {
    CO_TRY_VOID(co_await member.host.write("bootstrap", std::move(bootstrap)));
    CO_TRY_VOID(co_await member.host.start());
    co_return co_await member.host.wait_for_log();
}

/// The authority's certificate comes after its key, and `issued` after the certificates: each tells that the others are there.
Task<> EtcdProvisioner::prepare(Member& member) {
    CO_TRY(const EtcdFacts made, co_await member.host.make_keys(plane_.own_etcd->program));
    const std::string& address = member.wanted.ssh.address;
    const SystemTime now = seams_.loop.wall_now();
    CO_TRY(std::string of_member, issue_for_etcd(*authority_, made.member_public, address, now));
    CO_TRY(std::string of_client, issue_for_etcd(*authority_, made.client_public, "", now));
    EtcdFiles files = etcd_files(plane_, member.wanted, *authority_, made);
    const std::pair<const char*, std::string> ordered[] = {
        {"ca.key", files["ca.key"]},          {"ca.crt", authority_->certificate_pem()},       {"member.crt", std::move(of_member)},
        {"client.crt", std::move(of_client)}, {PORTHOLE_ETCD_UNIT, files[PORTHOLE_ETCD_UNIT]}, {"issued", files["issued"]}};
    for (const auto& [name, text] : ordered) CO_TRY_VOID(co_await member.host.write(name, text));
    co_return {};
}

}  // namespace porthole::provision
