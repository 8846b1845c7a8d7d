#include "windows/support.h"

namespace porthole::windows {
namespace {

std::string_view text_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Refused:
            return "refused";
        case Outcome::Ignored:
            return "ignored";
        case Outcome::Advised:
            return "advice";
    }
    return "";
}

}  // namespace

std::string support_table() {
    std::string text =
        "# Windows support of manifest fields\n\n"
        "This page is generated from the table in `src/windows`, which the API server uses for warnings and the kubelet on Windows\n"
        "follows. If `spec.os.name` is `windows`, the API server rejects, as Kubernetes does, the fields that are \"refused\" here,\n"
        "`hostUsers`, and every ignored field under `securityContext`. If the pod only selects Windows nodes, it warns.\n"
        "`containers[*]` includes init and ephemeral containers.\n\n"
        "| Field | On Windows | Event | Why |\n|---|---|---|---|\n";
    for (const Rule& rule : rules()) {
        text += "| `" + std::string(rule.field) + "` | " + std::string(text_of(rule.outcome)) + " | ";
        text += (rule.reason.empty() ? "" : "`" + std::string(rule.reason) + "`") + " | " + std::string(rule.words) + " |\n";
    }
    return text;
}

}  // namespace porthole::windows
