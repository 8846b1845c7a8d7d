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
    // The option names all plugins that are not on by themselves, those that run now as well.
    const auto enable = [&](const std::string& plugin) {
        std::string option = "enable-admission-plugins=";
        const std::string running = evidence.flag("enable-admission-plugins").value_or("");
        for (const char* other : {"AlwaysPullImages", "DenyServiceExternalIPs", "EventRateLimit", "ImagePolicyWebhook", "PodNodeSelector",
                                  "PodTolerationRestriction"})
            if (has_word(running, other)) option += std::string(other) + ",";
        return option + plugin;
    };
    require({"1.2.3", "services cannot claim arbitrary external IPs"}, "DenyServiceExternalIPs", Verdict::Warn,
            start_hardened(evidence, enable("DenyServiceExternalIPs")));
    require({"1.2.9", "the rate of events is limited"}, "EventRateLimit", Verdict::Warn,
            start_hardened(evidence, enable("EventRateLimit") + ", with its limits in --admission-control-config-file"));
    require({"1.2.11", "a pod needs its own credentials for images that other pods have pulled"}, "AlwaysPullImages", Verdict::Warn,
            start_with(evidence, enable("AlwaysPullImages")) + ", if all images are in registries that the nodes can reach");
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
                      start_with(evidence, enable("ImagePolicyWebhook")) +
                          ", with a server that decides about images in the file of admission-control-config-file");
    });
}

}  // namespace porthole::cmd::doctor
