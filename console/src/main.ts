import { mount } from 'svelte';
import './style.css';
import Page from './Page.svelte';

mount(Page, { target: document.body });
