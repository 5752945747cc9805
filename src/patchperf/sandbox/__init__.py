"""How an untrusted command runs on a source tree, and how trees and environments are made."""
