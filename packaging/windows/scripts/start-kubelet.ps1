<#
.SYNOPSIS
Starts the kubelet as a console program, with its log in a file. Services do the same after a restart of Windows: register-svc.ps1.
#>
param(
    [string] $ClusterCidr = '10.244.0.0/16',
    [string] $ManagementIP = '',
    [string] $InterfaceName = 'Ethernet',
    [string] $KubeDnsServiceIP = '10.96.0.10',
    [string] $ClusterDomain = 'cluster.local',
    [string] $ContainerRuntimeEndpoint = 'npipe:////./pipe/containerd-containerd',
    [string] $Folder = 'C:\k',
    [string] $LogDir = "$Folder\logs"
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator
Assert-Program "$Folder\kubelet.exe"
if (-not (Test-Path "$Folder\config")) { Stop-WithMessage "$Folder\config does not exist: join the cluster, or copy a kubeconfig (install.ps1 -Kubeconfig)." }
if (-not $ManagementIP) { $ManagementIP = Get-AdapterAddress $InterfaceName }

# The kubelet itself takes the pods' range from its Node object; start-kubeproxy.ps1 in this console takes it from here.
$env:CLUSTER_CIDR = $ClusterCidr
Start-Logged "$Folder\kubelet.exe" @(
    "--kubeconfig=$Folder\config", "--hostname-override=$(Get-NodeName)", "--node-ip=$ManagementIP",
    "--container-runtime-endpoint=$ContainerRuntimeEndpoint", "--cluster-dns=$KubeDnsServiceIP", "--cluster-domain=$ClusterDomain",
    '--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS', '--system-reserved=memory=2Gi') $LogDir
