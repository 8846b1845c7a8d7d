#include <algorithm>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

using Kind = FileFact::Kind;

/// An item about files of some kinds: their modes at most `mode`, or, where that is 0, their owner.
struct FileItem {
    Item item;
    std::vector<Kind> kinds;
    unsigned mode;
};

const FileItem FileItems[] = {
    {{"1.1.9", "the CNI configuration is writable by its owner only"}, {Kind::CniConfiguration}, 0644},
    {{"1.1.10", "the CNI configuration is owned by root"}, {Kind::CniConfiguration}, 0},
    {{"1.1.11", "the store's directory is accessible to its owner only"}, {Kind::StoreFolder}, 0700},
    {{"1.1.12", "the store is owned by the server's user"}, {Kind::StoreFolder, Kind::StoreFile}, 0},
    {{"1.1.13", "the administrator's kubeconfig is readable by its owner only"}, {Kind::Kubeconfig}, 0600},
    {{"1.1.14", "the administrator's kubeconfig is owned by root"}, {Kind::Kubeconfig}, 0},
    {{"1.1.19", "certificates and keys are owned by root"}, {Kind::PkiFolder, Kind::Key, Kind::Certificate}, 0},
    {{"1.1.20", "certificates are writable by their owner only"}, {Kind::Certificate}, 0644},
    {{"1.1.21", "keys are readable by their owner only"}, {Kind::Key}, 0600},
    {{"4.1.5", "nodes' kubeconfigs and identities are readable by their owner only"}, {Kind::NodeIdentity}, 0600},
    {{"4.1.6", "nodes' kubeconfigs and identities are owned by root"}, {Kind::NodeIdentity}, 0},
    {{"4.1.7", "nodes' authority files are writable by their owner only"}, {Kind::AuthorityFile}, 0644},
    {{"4.1.8", "nodes' authority files are owned by root"}, {Kind::AuthorityFile}, 0},
    {{"", "files of the store are readable by their owner only"}, {Kind::StoreFile}, 0600},
    {{"", "the audit log is readable by its owner only"}, {Kind::AuditLog}, 0600},
};

bool is_bad_file(const FileFact& file, unsigned mode) { return mode ? (file.mode & ~mode) != 0 : file.uid != 0 || file.gid != 0; }

std::string octal(unsigned mode) {
    std::string digits;
    for (; mode || digits.empty(); mode /= 8) digits.insert(digits.begin(), static_cast<char>('0' + mode % 8));
    return digits;
}

void judge_files(const FileItem& wanted, const HostFacts& host, Findings& findings) {
    std::vector<std::string> bad;
    bool any = false;
    for (const FileFact& file : host.files) {
        if (std::ranges::find(wanted.kinds, file.kind) == wanted.kinds.end()) continue;
        any = true;
        if (!is_bad_file(file, wanted.mode)) continue;
        bad.push_back(file.path.string() + (wanted.mode ? " (" + octal(file.mode) + ")"
                                                        : " (" + std::to_string(file.uid) + ":" + std::to_string(file.gid) + ")"));
    }
    if (!any) return findings.not_applicable(wanted.item, "there is no such file on this machine");
    const std::string remedy = wanted.mode ? "chmod " + octal(wanted.mode) + " each listed file" : "chown root:root each listed file";
    findings.none(wanted.item, Verdict::Fail, std::move(bad), wanted.mode ? "other users have access" : "another user owns it", remedy);
}

}  // namespace

void check_files(const Evidence& evidence, Findings& findings) {
    findings.not_applicable({"1.1.1-8", "manifests of the control plane's pods"},
                            "the control plane is one process, which no pod manifest describes");
    findings.not_applicable({"1.1.15-18", "kubeconfigs of scheduler and controllers"},
                            "they run in the server's process and have no kubeconfig");
    findings.not_applicable({"4.1.1-4", "the kubelet's unit file and the proxy's kubeconfig"},
                            "a node's programs are one process, with the node's kubeconfig");
    findings.not_applicable({"4.1.9-10", "the kubelet's configuration file"}, "Porthole's agent is set by flags; no file is read");
    for (const FileItem& wanted : FileItems) {
        if (evidence.host) {
            judge_files(wanted, *evidence.host, findings);
        } else {
            findings.not_applicable(wanted.item, evidence.host_missing);
        }
    }
}

}  // namespace porthole::cmd::doctor
