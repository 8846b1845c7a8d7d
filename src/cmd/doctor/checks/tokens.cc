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
            joining.push_back(token.name + (token.expires ? " (until " + Timestamp(*token.expires).to_string() + ")" : " (does not end)"));
    findings.none({"", "tokens of service accounts end"}, Verdict::Warn, std::move(lasting), "Secrets hold tokens that do not end",
                  "delete the Secrets; `kubectl create token` and mounted tokens end");
    findings.none({"", "tokens for joining end within a day"}, Verdict::Warn, std::move(joining), "who has one can become any node",
                  "porthole token delete ID, and make one with --ttl when a node joins");
}

}  // namespace porthole::cmd::doctor
