#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {

void check_admission_plugins(const Evidence& evidence, Findings& findings) {
    const auto require = [&](Item item, const char* plugin, Verdict otherwise, std::string remedy) {
        with_flag(evidence, findings, item, "enable-admission-plugins", [&](const std::string& running) {
            std::vector<std::string> missing;
            if (!has_word(running, plugin)) missing.push_back(plugin);
            findings.none(item, otherwise, std::move(missing), "the plugin does not run", remedy);
        });
    };
    const std::string enable = "porthole server --enable-admission-plugins=";
    require({"1.2.3", "services cannot claim arbitrary external IPs"}, "DenyServiceExternalIPs", Verdict::Warn,
            enable + "DenyServiceExternalIPs");
    require({"1.2.9", "the rate of events is limited"}, "EventRateLimit", Verdict::Warn, enable + "EventRateLimit");
    require({"1.2.11", "a pod needs its own credentials for images that other pods have pulled"}, "AlwaysPullImages", Verdict::Warn,
            enable + "AlwaysPullImages, if all images are in registries that the nodes can reach");
    require({"1.2.12", "pods have the service account they name"}, "ServiceAccount", Verdict::Fail, "do not disable ServiceAccount");
    require({"1.2.13", "nothing is created in a terminating namespace"}, "NamespaceLifecycle", Verdict::Fail,
            "do not disable NamespaceLifecycle");
    require({"1.2.14", "a node can change only its own objects"}, "NodeRestriction", Verdict::Fail, "do not disable NodeRestriction");
    require({"5.2.1", "Pod Security admission restricts pods"}, "PodSecurity", Verdict::Fail, "do not disable PodSecurity");
    with_flag(evidence, findings, {"1.2.10", "no plugin admits everything"}, "enable-admission-plugins", [&](const std::string& running) {
        constexpr Item Everything{"1.2.10", "no plugin admits everything"};
        has_word(running, "AlwaysAdmit") ? findings.fail(Everything, "AlwaysAdmit runs", "do not enable AlwaysAdmit")
                                         : findings.pass(Everything);
    });
    constexpr Item Images{"5.5.1", "admission checks the origin of images"};
    with_flag(evidence, findings, Images, "enable-admission-plugins", [&](const std::string& running) {
        if (has_word(running, "ImagePolicyWebhook")) return findings.pass(Images, "the webhook of ImagePolicyWebhook decides");
        // ValidatingAdmissionWebhook and ValidatingAdmissionPolicy are on by default, which does not say that a webhook or policy is there.
        findings.warn(Images, "no admission plugin for images runs",
                      enable + "ImagePolicyWebhook, with a server that decides about images in --admission-control-config-file");
    });
}

}  // namespace porthole::cmd::doctor
