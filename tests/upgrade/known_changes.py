"""What may differ from what earlier versions have served and answered: regular expressions on the lines of earlier_api.py, and why."""

WRITTEN = r"(status|metadata\.(resourceVersion|managedFields|annotations\.autoscaling))"
KNOWN = {
    # What controllers do when they start.
    rf"/pods \S+\.{WRITTEN}": "the scheduler looks at pods without a node again, and may say it in other words",
    rf"/nodes \S+\.({WRITTEN}|spec\.taints)": "nobody renews the lease of the recorded nodes",
    rf"/(deployments|resourcequotas|horizontalpodautoscalers|poddisruptionbudgets) \S+\.{WRITTEN}": "they are counted again, and what takes long is told",
    r"/endpoints shop/outside: it is gone": "no service has its name, which is noticed at a start",
    r"/certificatesigningrequests \S+: it is gone": "old requests are removed",
    r"/events \S+\.(\w*[cC]ount|\w*[lL]astTimestamp|metadata\.(resourceVersion|managedFields))": "the same happens again",
    r"/nodes(/|\.items)\S*\.(spec\.(taints|podCIDRs?)|metadata\.(managedFields|annotations))": "controllers write taints and ranges, and each part of an agent its own, when it comes to it",
    r"GET /api/v1/nodes/recorded: 200 instead of 404": "another part of the agent creates it meanwhile",
    # What is different each time.
    r"\.managedFields\[\d+\]\.\S*f:lastTransitionTime": "who has changed a time depends on the second of the write before",
    r"/token\.status\.token": "a token has its time in it",
    r"^porthole-join|/configmaps/cluster-info\.data\.|\.targetPort: 7443 became 6443": "the recorded server was at another port while clients were recorded",
    # What servers say to people.
    r"\.columnDefinitions\[\d+\]\.description": "descriptions of columns",
    # What servers complete when they start.
    r"/clusterroles /(system:|porthole:|admin|edit|view)\S*\.(rules|metadata\.(managedFields|resourceVersion))": "roles of components, which follow the version",
}
