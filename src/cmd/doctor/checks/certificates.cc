#include <algorithm>

#include "base/time/time.h"
#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

using namespace std::chrono_literals;

constexpr Item Valid{"", "no certificate has expired or is about to"};
constexpr Item Strong{"", "keys of certificates are long enough"};
constexpr Item Short{"", "certificates are issued for a year at most"};
constexpr auto Soon = 24h * 30, Year = 24h * 366;
constexpr int LeastRsaBits = 2048, LeastCurveBits = 224;

bool is_strong(const CertificateFact& certificate) {
    return certificate.key_bits >= (certificate.key_kind == "RSA" ? LeastRsaBits : LeastCurveBits);
}

std::string until(const CertificateFact& certificate) {
    return certificate.name + " (until " + Timestamp(certificate.not_after).to_string() + ")";
}

}  // namespace

void check_certificates(const Evidence& evidence, Findings& findings) {
    if (!evidence.host) {
        for (const Item& item : {Valid, Strong, Short}) findings.not_applicable(item, evidence.host_missing);
        return;
    }
    std::vector<std::string> expired, soon, weak, lasting;
    for (const CertificateFact& certificate : evidence.host->certificates) {
        if (certificate.not_after <= evidence.now) {
            expired.push_back(until(certificate));
        } else if (certificate.not_after - evidence.now < Soon) {
            soon.push_back(until(certificate));
        }
        if (!is_strong(certificate))
            weak.push_back(certificate.name + " (" + certificate.key_kind + " " + std::to_string(certificate.key_bits) + ")");
        if (!certificate.authority && certificate.not_after - certificate.not_before > Year) lasting.push_back(until(certificate));
    }
    const char* const renewal = "porthole certs renew NAME; of an authority: porthole certs rotate ca --start";
    if (!expired.empty()) {
        findings.fail(Valid, "expired", renewal, std::move(expired));
    } else {
        findings.none(Valid, Verdict::Warn, std::move(soon), "expire within 30 days", renewal);
    }
    findings.none(Strong, Verdict::Fail, std::move(weak), "RSA below 2048 bits, or a curve below 224 bits", renewal);
    findings.none(Short, Verdict::Warn, std::move(lasting), "valid for longer than a year", "porthole certs renew NAME");
}

}  // namespace porthole::cmd::doctor
