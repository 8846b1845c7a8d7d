<#
.SYNOPSIS
Starts kube-proxy as a console program, with its log in a file. The kubelet must run already.
#>
param(
    [ValidateSet('l2bridge', 'overlay')] [string] $NetworkMode = 'l2bridge',
    [string] $ClusterCidr = $(if ($env:CLUSTER_CIDR) { $env:CLUSTER_CIDR } else { '10.244.0.0/16' }),
    [string] $NetworkName = '',
    [string] $Folder = 'C:\k',
    [string] $LogDir = "$Folder\logs"
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator
Assert-Program "$Folder\kube-proxy.exe"
if (-not (Get-Process -Name kubelet -ErrorAction SilentlyContinue)) { Stop-WithMessage 'The kubelet does not run: start-kubelet.ps1 comes first.' }
if (-not $NetworkName) { $NetworkName = if ($NetworkMode -eq 'overlay') { 'vxlan0' } else { 'cbr0' } }

$env:KUBE_NETWORK = $NetworkName
Start-Logged "$Folder\kube-proxy.exe" @(
    "--kubeconfig=$Folder\config", '--proxy-mode=kernelspace', "--hostname-override=$(Get-NodeName)", "--cluster-cidr=$ClusterCidr",
    "--network-name=$NetworkName") $LogDir
