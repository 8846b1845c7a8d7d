#include "base/time/time.h"
#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {

void check_tokens(const Evidence& evidence, Findings& findings) {
    using namespace std::chrono_literals;
    std::vector<std::string> lasting, joining;
    for (const TokenSecret& token : evidence.account_tokens)
        lasting.push_back(token.namespace_ + "/" + token.name + " (account " + token.account + ", " +
                          format_age(evidence.now - token.created) + " old, " +
                          (token.last_used.empty() ? "use not recorded" : "last used " + token.last_used) + ")");
    for (const TokenSecret& token : evidence.bootstrap_tokens)
        if (!token.expires || *token.expires - evidence.now > 24h)
            joining.push_back(token.name +
                              (token.expires ? " (until " + Timestamp(*token.expires).to_string() + ")" : " (does not expire)"));
    findings.none({"", "service account tokens expire"}, Verdict::Warn, std::move(lasting), "Secrets contain tokens that do not expire",
                  "delete the Secrets; `kubectl create token` and mounted tokens expire");
    findings.none({"", "bootstrap tokens expire within a day"}, Verdict::Warn, std::move(joining),
                  "anyone who has one can join as any node", "porthole token delete ID, and create one with --ttl when a node joins");
}

}  // namespace porthole::cmd::doctor
